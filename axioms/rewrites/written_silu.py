"""SiLU written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn


@rewrite("written_silu")
def written_silu(model: nn.Module) -> nn.Module:
    """silu(x) = x sigmoid(x)."""
    from axioms.rewrites.patterns.calls import rewrite_calls
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import Written

    def replacement(module: nn.Module) -> nn.Module | None:
        return Written(times_sigmoid) if type(module).__name__ in ("SiLU", "SiLUActivation") else None

    return model if replace_modules(model, replacement) else rewrite_calls(model, {"silu": times_sigmoid}, "SiLU")


def times_sigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """With the signature of `torch.nn.functional.silu`."""
    import torch

    return input * torch.sigmoid(input)
