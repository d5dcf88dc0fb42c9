"""The ReLU rearrangement of Sundararajan et al. 2017."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn


@rewrite("relu_rearranged")
def relu_rearranged(model: nn.Module, *, shift: float = 1.0) -> nn.Module:
    """relu(x) = relu(relu(x + c) - c) for c >= 0 (after Sundararajan et al. 2017), c in the biases of linear maps."""
    import torch
    from torch import nn

    from axioms.rewrites.patterns.calls import rewrite_calls
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import Written, shifted

    def rearranged(input: Tensor, inplace: bool = False) -> Tensor:
        return torch.relu(shifted(torch.relu(shifted(input, shift)), -shift))

    def replacement(module: nn.Module) -> nn.Module | None:
        return Written(rearranged) if isinstance(module, nn.ReLU) else None

    return model if replace_modules(model, replacement) else rewrite_calls(model, {"relu": rearranged}, "ReLU")
