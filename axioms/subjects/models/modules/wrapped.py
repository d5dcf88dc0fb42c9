"""Models around a model, which is asked through them for everything but its outputs."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from axioms.model.module import outputs_in


class Wrapped(nn.Module):
    """A model in another; what it does not have itself (`config`, the input embedding) it takes from the inner one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


class Combined(Wrapped):
    """A network whose outputs are weighted sums of another's: a last linear layer without bias."""

    def __init__(self, inner: nn.Module, weight: Tensor) -> None:
        super().__init__(inner)
        # Set where torch keeps it: an inner model may have a weight itself, and answers for what is not here.
        self._parameters["weight"] = nn.Parameter(weight, requires_grad=False)

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return the sums: batch x rows of the weight, or batch x tokens x rows."""
        outputs = outputs_in(self.inner(*args, **kwargs))
        outputs = outputs.unsqueeze(1) if outputs.dim() == 1 else outputs
        return F.linear(outputs, self.weight)


class Scaled(Wrapped):
    """A network whose features are measured in other units: f(factor * y)."""

    def __init__(self, inner: nn.Module, factor: float) -> None:
        super().__init__(inner)
        self.factor = factor

    def forward(self, features: Tensor, **kwargs: Any) -> Any:
        """Return what the inner model gives for the scaled features."""
        return self.inner(features * self.factor, **kwargs)


class Shifted(Wrapped):
    """A network whose features are measured from another origin: f(shift + y)."""

    def __init__(self, inner: nn.Module, shift: Tensor) -> None:
        super().__init__(inner)
        self.shift = shift

    def forward(self, features: Tensor, **kwargs: Any) -> Any:
        """Return what the inner model gives for the shifted features."""
        return self.inner(features + self.shift, **kwargs)
