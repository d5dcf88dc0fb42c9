"""Rules: how relevance crosses one operation.

Each returns the *same value* as the operation with a *different backward pass*, such that Gradient x Input on the
changed graph is the rule (Arras et al. 2025, Section 2.7 and Appendix D). With R = z * g for a value z whose gradient
is g, dividing relevance by z + eps * sign(z) instead of z scales g by z / (z + eps * sign(z)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.counts import Nodes
from axioms.core.lazy import Lazy, np, torch
from axioms.core.registry import rule
from axioms.engine.kinds import ACTIVATION, BLOCK, GATE, KINDS, LINEAR, NORM, NORMALIZER, PRODUCT, SOFTMAX, SUM
from axioms.engine.operations import Block, Linear, Norm, Operation, Pointwise, Product, Sum

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine import facts, gradients
else:  # both import torch, which the names and options of rules need not wait for
    facts, gradients = Lazy("axioms.engine.facts"), Lazy("axioms.engine.gradients")


@rule("epsilon", on=KINDS)
def epsilon(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equation (1): R_i = sum_j z_ij / (z_j + epsilon sign(z_j)) R_j, where z_j includes the bias.

    Adding a zero splits nothing and keeps nothing back: a mask must not matter where it masks nothing.
    """
    value = operation.forward()
    if epsilon == 0:
        return value
    factor = gradients.stabilized(value, 1, epsilon)
    if isinstance(operation, Sum):
        for term in operation.terms:
            factor = torch.where(term == 0, 1.0, factor)
    if operation.kind not in (LINEAR, SUM, PRODUCT):
        value = value.clone()  # tanh, softmax and others need their own value on the way back: it must not be marked
    return gradients.scale_gradient(value, factor)


@rule("gamma", on=LINEAR)
def gamma(operation: Operation, *, gamma: float = 0.25) -> Tensor:
    """Contributions with the sign of the output count 1 + gamma times (generalized LRP-gamma, Andeol et al. 2021).

    R_i = sum_j (z_ij + gamma z_ij [z_ij z_j > 0]) / (the same summed over i, and the bias) R_j. The denominator is
    never smaller than z_j, so it needs no stabilizer.
    """
    assert isinstance(operation, Linear)
    value = operation.forward()
    positive, negative = _signed_parts(operation)
    favoured = torch.where(value > 0, positive, negative)
    total = gradients.wide(value) + gamma * favoured
    bias = None if operation.bias is None else gradients.wide(operation.bias)
    favoured_bias = 0 if bias is None else bias * (bias * value > 0)
    share = gradients.divided(gradients.wide(value), total + gamma * favoured_bias)
    return gradients.with_gradient_of(value, (total * share).to(value.dtype))


@rule("alpha1_beta0", on=LINEAR)
def alpha1_beta0(operation: Operation) -> Tensor:
    """Positive contributions only (Bach et al. 2015): R_i = sum_j z_ij^+ / (sum_k z_kj^+ + b_j^+) R_j."""
    assert isinstance(operation, Linear)
    value = operation.forward()
    positive, _ = _signed_parts(operation)
    bias = 0 if operation.bias is None else gradients.wide(operation.bias).clamp(min=0)
    share = gradients.divided(gradients.wide(value), positive + bias)
    # Where next to nothing is positive, there is nothing to give it to, and the quotient would overflow.
    share = share.masked_fill(share.abs() > 1 / torch.finfo(value.dtype).eps, 0)
    return gradients.with_gradient_of(value, (positive * share).to(value.dtype))


def _signed_parts(operation: Linear) -> tuple[Tensor, Tensor]:
    """The sums of the positive and of the negative contributions, without the bias."""
    x, weight, apply = gradients.wide(operation.input), gradients.wide(operation.weight), operation.apply
    up, down = x * (x > 0), x * (x < 0)
    more, less = weight.clamp(min=0), weight.clamp(max=0)
    return apply(up, more) + apply(down, less), apply(up, less) + apply(down, more)


@rule("identity", on=ACTIVATION)
def identity(operation: Operation) -> Tensor:
    """R_x = R_g(x) for an activation, entry by entry (Arras et al. 2025, D.3); zero inputs get zero relevance."""
    assert isinstance(operation, Pointwise)
    with torch.no_grad():
        value = operation.forward()
    return gradients.send_gradient(value.detach(), operation.input, gradients.divided(value, operation.input))


@rule("uniform", on=PRODUCT)
def uniform(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Equations (3) and (4): each of n factors gets z / (n z + epsilon sign(z)) of R: half, where there are two."""
    assert isinstance(operation, Product)
    for place, factor in enumerate(operation.factors):
        held = facts.held_entries(factor)
        if held is not None:
            return _uniform_but(held, place, operation, epsilon)
    value, parts = operation.forward(), len(operation.factors)
    return value if parts == 1 else gradients.scale_gradient(value, gradients.stabilized(value, parts, epsilon))


def _uniform_but(held: Tensor, place: int, operation: Product, epsilon: float) -> Tensor:
    """Split evenly, where one factor is constant in the entries of some heads: there, among the other factors."""
    before, factor, after = operation.factors[:place], operation.factors[place], operation.factors[place + 1 :]
    constant = operation.multiply(*before, torch.where(held, factor.detach(), 0), *after)
    variable = operation.multiply(*before, torch.where(held, 0, factor), *after)
    total, parts = constant + variable, len(operation.factors)
    return gradients.scale_gradient(
        constant, gradients.stabilized(total, parts - 1, epsilon)
    ) + gradients.scale_gradient(variable, gradients.stabilized(total, parts, epsilon))


@rule("signal_take_all", on=PRODUCT)
def signal_take_all(operation: Operation, *, signal: int = -1) -> Tensor:
    """All relevance to one factor, the signal; the others are held constant (Arras et al. 2025, D.4).

    The signal is the last factor, V in A V, unless that came out of an activation: in up * act(gate) it is up.
    """
    assert isinstance(operation, Product)
    chosen = signal % len(operation.factors)
    is_gate = [facts.of(factor).is_activated for factor in operation.factors]
    if is_gate[chosen] and not all(is_gate):
        chosen = is_gate.index(False)
    return _all_to(chosen, operation)


def _all_to(place: int, operation: Product) -> Tensor:
    """Return the product with all factors but one held constant."""
    place %= len(operation.factors)
    return operation.multiply(*(x if i == place else x.detach() for i, x in enumerate(operation.factors)))


@rule("taylor", on=(SOFTMAX, GATE, ACTIVATION, NORMALIZER))
def taylor(operation: Operation) -> Tensor:
    """Equation (5): R_Z = Z (R_A - A sum R_A), which is the softmax's own gradient times its input."""
    return operation.forward()


@rule("norm_as_linear", on=NORM)
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
    return gradients.linear_norm(value, operation, scale)


def _inverse_deviation(operation: Norm) -> Tensor:
    x = gradients.wide(operation.grouped(operation.input))
    centered = x - x.mean(operation.dims, keepdim=True) if operation.centered else x
    return torch.rsqrt((centered * centered).mean(operation.dims, keepdim=True) + operation.eps)


@rule("stop", on=KINDS)
def stop(operation: Operation, *, heads: list[int] | tuple[int, ...] | None = None) -> Tensor:
    """No relevance goes further back: CP-LRP's treatment of the softmax. With `heads`, only in these (1-based)."""
    value = operation.forward()
    if heads is None:
        return value.detach()
    chosen = torch.zeros(value.shape[1], dtype=torch.bool, device=value.device)
    chosen[[head - 1 for head in heads]] = True
    chosen = chosen.reshape(-1, *(1,) * (value.dim() - 2))
    return facts.hold(torch.where(chosen, value.detach(), value), chosen)


@rule("scan_product", on=PRODUCT)
def scan_product(operation: Operation) -> Tensor:
    """MambaLRP (Rezaei Jafari et al. 2024): h_t = A_t h_(t-1) + B_t x_t, y_t = C_t h_t, out = y * act(z).

    A, B, C and the step size are computed from the input but held constant, so that relevance follows the sequence: x
    in B x, the last factor, and h in h C, the first. The gate's product, of two factors of the same shape of which one
    came out of an activation, is split in half.
    """
    assert isinstance(operation, Product)
    if is_gating(operation):
        return uniform(operation)
    return _all_to(0 if operation.contracts else -1, operation)


def is_gating(operation: Product) -> bool:
    """Tell whether a product is that of a gate: entry by entry, one factor activated, and none broadcast."""
    shapes = {factor.shape for factor in operation.factors}
    return (
        not operation.contracts
        and len(shapes) == 1
        and any(facts.of(factor).is_activated for factor in operation.factors)
    )


@rule("degree", on=PRODUCT)
def degree(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Each of n factors gets d_k / mean(d) times what the uniform rule would give it, where d are their degrees.

    So the shares are d_k / sum(d), and the stabilizer keeps what it keeps there: z / (n z + epsilon sign(z)).
    """
    assert isinstance(operation, Product)
    degrees = [facts.of(factor).degree for factor in operation.factors]
    count = len(degrees)
    if count == 1:
        return operation.forward()
    if len(set(degrees)) == 1:
        value = operation.forward()
    else:
        shares = [count * number / sum(degrees) for number in degrees]
        value = operation.multiply(*map(gradients.weight_gradient, operation.factors, shares))
    return gradients.scale_gradient(value, gradients.stabilized(value, count, epsilon))


@rule("aumann_shapley", on=BLOCK)
def aumann_shapley(operation: Operation, *, nodes: Nodes) -> Tensor:
    """R = x times the mean gradient on the straight path from 0 to x, by Gauss-Legendre nodes over the block alone.

    The stand-in sum_t (w_t / t) B(t x) has the gradient sum_t w_t J(t x)', which is that mean.
    """
    assert isinstance(operation, Block)
    places, weights = np.polynomial.legendre.leggauss(nodes)
    stand_in: Tensor | None = None
    for place, weight in zip(((places + 1) / 2).tolist(), (weights / 2).tolist(), strict=True):
        part = operation.function(*(place * x for x in operation.inputs)) * (weight / place)
        stand_in = part if stand_in is None else stand_in + part
    assert stand_in is not None
    return gradients.with_gradient_of(operation.forward(), stand_in)
