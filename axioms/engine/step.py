"""One step of the explicit engine: an operation whose relevance is handed to its inputs as a rule says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import UncoveredOperation
from axioms.engine.operations import Operation

Share = Callable[[Tensor], Sequence[Tensor]]
"""From the relevance of an output to the relevance of each input."""


class Carry(torch.autograd.Function):
    """A value whose backward pass takes its relevance and hands out that of its inputs."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, share: Share, *inputs: Tensor) -> Tensor:
        """The value itself."""
        ctx.share = share
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *relevance: Any) -> Any:
        """Relevance of the inputs; none for the value and the function."""
        return None, None, *ctx.share(relevance[0])


class Step:
    """One operation of the forward pass, on copies of its variables, so that its graph is its own and nothing more."""

    def __init__(
        self,
        operation: Operation,
        copies: Sequence[Tensor],
        originals: Sequence[Tensor],
        epsilon: float,
        dim: int | None = None,
    ) -> None:
        self.operation, self.copies, self.epsilon, self.dim = operation, copies, epsilon, dim
        self.originals = {id(copy): original for copy, original in zip(copies, originals, strict=True)}
        self.plain = operation.forward()
        """With torch's own gradient, for transposing it."""
        if not isinstance(self.plain, Tensor):
            raise UncoveredOperation(f"no explicit rule covers {operation.name!r}, which returns several tensors.")

    @property
    def value(self) -> Tensor:
        """What the operation computes."""
        return self.plain.detach()

    def stabilized(self, value: Tensor, epsilon: float = 0.0) -> Tensor:
        """Return z + epsilon sign(z), sign(0) = 1; at 0 the engine's own epsilon stands for the limit."""
        return value + (epsilon or self.epsilon) * sign(value)

    def carry(self, share: Share, *copies: Tensor) -> Tensor:
        """Return the value, which hands its relevance to the variables that these are copies of."""
        return Carry.apply(self.value, share, *(self.originals[id(copy)] for copy in copies))


def sign(value: Tensor) -> Tensor:
    """Return -1 for negative numbers, else 1."""
    return torch.where(value < 0, -1.0, 1.0).to(value.dtype)


def contributions(output: Tensor, inputs: Sequence[Tensor]) -> Share:
    """Return the map from s to x_i sum_j (dz_j / dx_i) s_j: equation (1) with s = R / z, where z is linear in x."""

    def share(quotient: Tensor) -> list[Tensor]:
        gradients = torch.autograd.grad(output, list(inputs), quotient, retain_graph=True, materialize_grads=True)
        # A masked logit may be -inf; it contributes nothing, and not 0 * inf.
        return [torch.where(g == 0, 0, x * g) for x, g in zip(inputs, gradients, strict=True)]

    return share


def contributions_of(function: Callable[..., Tensor], inputs: Sequence[Tensor]) -> Share:
    """Return these contributions for a function of the inputs, of which two may be one tensor."""
    apart = [x.detach().requires_grad_() for x in inputs]
    return contributions(function(*apart), apart)
