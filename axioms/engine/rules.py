"""Rules: how relevance crosses one operation.

Each returns the *same value* as the operation with a *different backward pass*, such that Gradient x Input on the
changed graph is the rule (Arras et al. 2025, Section 2.7 and Appendix D). With R = z * g for a value z whose gradient
is g, dividing relevance by z + eps * sign(z) instead of z scales g by z / (z + eps * sign(z)).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from axioms.engine.gradients import (
    divided,
    linear_norm,
    scale_gradient,
    send_gradient,
    stabilized,
    wide,
    with_gradient_of,
)
from axioms.engine.operations import (
    CLAMP,
    CONSTANT_HEADS,
    LINEAR,
    PRODUCT,
    SUM,
    Linear,
    Norm,
    Operation,
    Pointwise,
    Product,
    Sum,
)

Rule = Callable[..., Tensor]

RULES: dict[str, Rule] = {}

GATED = "_axioms_gated"
"""Mark of a tensor that came out of an activation: in a product with it, the other factor is the signal."""
DEGREE = "_axioms_degree"
"""Mark of a variable's polynomial degree (axioms/engine/degrees.py)."""


def rule(function: Rule) -> Rule:
    """Register a rule under its own name: `function(operation, **options) -> value`."""
    RULES[function.__name__] = function
    return function


@rule
def epsilon(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equation (1): R_i = sum_j z_ij / (z_j + epsilon sign(z_j)) R_j, where z_j includes the bias.

    Adding a zero splits nothing and keeps nothing back: a mask must not matter where it masks nothing.
    """
    value = operation.forward()
    if epsilon == 0:
        return value
    factor = stabilized(value, 1, epsilon)
    if isinstance(operation, Sum):
        for term in operation.terms:
            factor = torch.where(term.detach() == 0, 1.0, factor)
    if operation.kind not in (LINEAR, SUM, PRODUCT):
        value = value.clone()  # tanh, softmax and others need their own value on the way back: it must not be marked
    return scale_gradient(value, factor)


@rule
def gamma(operation: Operation, *, gamma: float = 0.25) -> Tensor:
    """Contributions with the sign of the output count 1 + gamma times (generalized LRP-gamma, Andeol et al. 2021).

    R_i = sum_j (z_ij + gamma z_ij [z_ij z_j > 0]) / (the same summed over i, and the bias) R_j. The denominator is
    never smaller than z_j, so it needs no stabilizer.
    """
    assert isinstance(operation, Linear)
    value = operation.forward()
    positive, negative = _signed_parts(operation)
    favoured = torch.where(value.detach() > 0, positive, negative)
    total = wide(value) + gamma * favoured
    bias = None if operation.bias is None else wide(operation.bias)
    favoured_bias = 0 if bias is None else bias * (bias * value.detach() > 0)
    share = divided(wide(value), total + gamma * favoured_bias)
    return with_gradient_of(value.detach(), (total * share).to(value.dtype))


@rule
def alpha1_beta0(operation: Operation) -> Tensor:
    """Positive contributions only (Bach et al. 2015): R_i = sum_j z_ij^+ / (sum_k z_kj^+ + b_j^+) R_j."""
    assert isinstance(operation, Linear)
    value = operation.forward()
    positive, _ = _signed_parts(operation)
    bias = 0 if operation.bias is None else wide(operation.bias).clamp(min=0)
    share = divided(wide(value), positive + bias)
    # Where next to nothing is positive, there is nothing to give it to, and the quotient would overflow.
    share = share.masked_fill(share.abs() > 1 / torch.finfo(value.dtype).eps, 0)
    return with_gradient_of(value.detach(), (positive * share).to(value.dtype))


def _signed_parts(operation: Linear) -> tuple[Tensor, Tensor]:
    """The sums of the positive and of the negative contributions, without the bias."""
    x, weight, apply = wide(operation.input), wide(operation.weight), operation.apply
    up, down = x * (x > 0), x * (x < 0)
    more, less = weight.clamp(min=0), weight.clamp(max=0)
    return apply(up, more) + apply(down, less), apply(up, less) + apply(down, more)


@rule
def identity(operation: Operation) -> Tensor:
    """R_x = R_g(x) for an activation, entry by entry (Arras et al. 2025, D.3); zero inputs get zero relevance."""
    assert isinstance(operation, Pointwise)
    with torch.no_grad():
        value = operation.forward()
    result = send_gradient(value.detach(), operation.input, divided(value, operation.input))
    if operation.name != CLAMP:
        setattr(result, GATED, True)
    return result


@rule
def uniform(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equations (3) and (4): each of n factors gets z / (n z + epsilon sign(z)) of R: half, where there are two."""
    assert isinstance(operation, Product)
    held = [getattr(factor, CONSTANT_HEADS, None) for factor in operation.factors]
    if any(each is not None for each in held):
        return _uniform_but(held, operation, epsilon)
    value, parts = operation.forward(), len(operation.factors)
    return value if parts == 1 else scale_gradient(value, stabilized(value, parts, epsilon))


def _uniform_but(held: list[Tensor | None], operation: Product, epsilon: float) -> Tensor:
    """The same where factors are constant in some heads: these heads have one variable factor less."""
    pairs = list(zip(operation.factors, held, strict=True))
    value = operation.multiply(*(x if h is None else torch.where(h, x.detach(), x) for x, h in pairs))
    parts = len(pairs) - sum(h.to(value.dtype) for _, h in pairs if h is not None)
    return scale_gradient(value, stabilized(value, parts, epsilon))


@rule
def signal_take_all(operation: Operation, *, signal: int = -1) -> Tensor:
    """All relevance to one factor, the signal; the others are held constant (Arras et al. 2025, D.4).

    The signal is the last factor, V in A V, unless that came out of an activation: in up * act(gate) it is up.
    """
    assert isinstance(operation, Product)
    chosen = signal % len(operation.factors)
    if hasattr(operation.factors[chosen], GATED):
        chosen = next((i for i, factor in enumerate(operation.factors) if not hasattr(factor, GATED)), chosen)
    held = (factor if i == chosen else factor.detach() for i, factor in enumerate(operation.factors))
    return operation.multiply(*held)


@rule
def taylor(operation: Operation) -> Tensor:
    """Equation (5): R_Z = Z (R_A - A sum R_A), which is the softmax's own gradient times its input."""
    return operation.forward()


@rule
def norm_as_linear(operation: Operation) -> Tensor:
    """The deviation is a constant (Ali et al. 2022): relevance passes a norm as it passes a linear map."""
    assert isinstance(operation, Norm)
    with torch.no_grad():
        if operation.name == "layer_norm":  # torch's own kernel, which gives the inverse deviation as well
            shape = operation.input.shape[-len(operation.dims) :]
            value, _, scale = torch.native_layer_norm(
                operation.input, shape, operation.weight, operation.bias, operation.eps
            )
        else:
            value, scale = operation.forward(), _inverse_deviation(operation)
    return linear_norm(value, operation, scale)


def _inverse_deviation(operation: Norm) -> Tensor:
    x = wide(operation.grouped(operation.input))
    centered = x - x.mean(operation.dims, keepdim=True) if operation.centered else x
    return torch.rsqrt((centered * centered).mean(operation.dims, keepdim=True) + operation.eps)


@rule
def stop(operation: Operation, *, heads: tuple[int, ...] | None = None) -> Tensor:
    """No relevance goes further back: CP-LRP's treatment of the softmax. With `heads`, only in these (1-based)."""
    value = operation.forward()
    if heads is None:
        return value.detach()
    chosen = torch.zeros(value.shape[1], dtype=torch.bool, device=value.device)
    chosen[[head - 1 for head in heads]] = True
    chosen = chosen.reshape(-1, *(1,) * (value.dim() - 2))
    result = torch.where(chosen, value.detach(), value)
    setattr(result, CONSTANT_HEADS, chosen)
    return result
