"""Rules: how relevance crosses one operation.

Each returns the *same value* as the operation with a *different backward pass*, such that Gradient x Input on the
changed graph is the rule (Arras et al. 2025, Section 2.7 and Appendix D). With R = z * g for a value z whose gradient
is g, dividing relevance by z + eps * sign(z) instead of z scales g by z / (z + eps * sign(z)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from axioms.propagate.operations import Operation

Rule = Callable[..., Tensor]

RULES: dict[str, Rule] = {}


def rule(function: Rule) -> Rule:
    """Register a rule under its own name: `function(operation, **options) -> value`."""
    RULES[function.__name__] = function
    return function


class _ScaleGradient(torch.autograd.Function):
    """The value itself; its gradient times a factor."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, factor: Tensor | float) -> Tensor:
        ctx.factor = factor
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.factor, None


def scale_gradient(value: Tensor, factor: Tensor | float) -> Tensor:
    """`value` with its gradient multiplied by `factor`."""
    return _ScaleGradient.apply(value, factor)


def stabilized(value: Tensor, parts: int, epsilon: float) -> Tensor | float:
    """z / (parts * z + epsilon * sign(z)) with sign(0) = 1; at epsilon 0 simply 1 / parts, also where z is 0."""
    if epsilon == 0:
        return 1 / parts
    value = value.detach()
    sign = torch.where(value < 0, -1.0, 1.0).to(value.dtype)
    return value / (parts * value + epsilon * sign)


@rule
def epsilon(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equation (1): R_i = sum_j z_ij / (z_j + epsilon sign(z_j)) R_j, where z_j includes the bias."""
    value = operation.forward()
    return value if epsilon == 0 else scale_gradient(value, stabilized(value, 1, epsilon))


@rule
def uniform(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equations (3) and (4): each of two factors gets z_ab / (2 z + epsilon sign(z)) of R, half of it."""
    value = operation.forward()
    return scale_gradient(value, stabilized(value, 2, epsilon))


@rule
def signal_take_all(operation: Operation) -> Tensor:
    """All relevance to the last factor, the signal; the others are held constant (Arras et al. 2025, D.4).

    In A V the last factor is V, in act(gate) * up it is up: the two places where CP-LRP uses it.
    """
    signal = operation.variables[-1]
    return operation.forward_with(lambda operand: operand if operand is signal else operand.detach())


@rule
def taylor(operation: Operation) -> Tensor:
    """Equation (5): R_Z = Z (R_A - A sum R_A), which is the softmax's own gradient times its input."""
    return operation.forward()


@rule
def stop(operation: Operation) -> Tensor:
    """No relevance goes further back: CP-LRP's treatment of the softmax."""
    return operation.forward().detach()
