"""Each GELU by its own formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn


@rewrite("written_gelu")
def written_gelu(model: nn.Module) -> nn.Module:
    """x (1 + erf(x / sqrt 2)) / 2, or x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 where that is used.

    The two differ by 5e-4, so each stays what it was.
    """
    from axioms.rewrites.patterns.calls import rewrite_calls
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import Written

    def replacement(module: nn.Module) -> nn.Module | None:
        name = type(module).__name__
        if name in EXACT or (name == "GELU" and getattr(module, "approximate", "none") == "none"):
            return Written(by_erf)
        if name in TANH or name == "GELU":
            return Written(by_tanh)
        return None

    return model if replace_modules(model, replacement) else rewrite_calls(model, {"gelu": gelu}, "GELU")


EXACT = ("GELUActivation", "PytorchGELU")
TANH = ("BloomGelu", "NewGELUActivation", "GELUTanh", "PytorchGELUTanh", "FastGELUActivation")


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """With the signature of `torch.nn.functional.gelu`."""
    return by_erf(input) if approximate == "none" else by_tanh(input)


def by_erf(x: Tensor) -> Tensor:
    """x Phi(x)."""
    import torch

    return x * (0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))))


def by_tanh(x: Tensor) -> Tensor:
    """Hendrycks and Gimpel's approximation."""
    import torch

    return x * (0.5 * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))
