"""Rules as the papers print them: relevance of the output in, relevance of the inputs out, every division written out.

Nothing here is shared with rules.py, against which these are compared. There a rule changes gradients;
here it divides relevance among the inputs. Gradients occur only to transpose linear maps.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from axioms.core.errors import NotDefined
from axioms.core.registry import RULES
from axioms.engine import facts
from axioms.engine.kinds import SOFTMAX
from axioms.engine.operations import Linear, Norm, Operation, Pointwise, Product, Sum
from axioms.engine.step import Share, Step, contributions, contributions_of, sign

ExplicitRule = Callable[..., Tensor]
"""`rule(step, **options)`: the step's value, whose backward pass is the rule."""

EXPLICIT_RULES: dict[str, ExplicitRule] = {}


def explicit(function: ExplicitRule) -> ExplicitRule:
    """Register a rule under its own name, which is the fast engine's name for it."""
    EXPLICIT_RULES[function.__name__] = function
    return function


def explicit_rule(name: str) -> ExplicitRule:
    """Return the explicit form of a rule, ours or a user's; `NotDefined` where it has none."""
    known = EXPLICIT_RULES.get(name) or RULES.get(name).explicit
    if known is None:
        raise NotDefined(f"rule {name!r} has no explicit form, so there is nothing to compare it with.")
    return known


@explicit
def epsilon(step: Step, *, epsilon: float = 0.0) -> Tensor:
    """Equation (1): R_i = sum_j z_ij / (z_j + epsilon sign(z_j)) R_j, where z_j includes the bias.

    Of a sum each term gets its part; what constants (positions, biases) would get is lost. Adding a zero
    splits nothing, so epsilon has no place there. For an operation that is not linear z_ij is x_i dz_j / dx_i, which
    makes this Gradient x Input.
    """
    return step.carry(_proportional(step, epsilon), *step.copies)


def _proportional(step: Step, epsilon: float = 0.0) -> Share:
    z, share = step.value, contributions(step.plain, step.copies)
    denominator = step.stabilized(z, epsilon)
    for term in step.operation.terms if isinstance(step.operation, Sum) else ():
        denominator = torch.where(term == 0, step.stabilized(z), denominator)
    return lambda relevance: share(relevance / denominator)


def unchanged(step: Step, x: Tensor) -> Tensor:
    """A number times a constant keeps its relevance: z_i / z_i R_i. Copies made by broadcasting are added up."""
    return step.carry(lambda relevance: [relevance.sum_to_size(x.shape)], x)


@explicit
def gamma(step: Step, *, gamma: float = 0.25) -> Tensor:
    """Equation (1) with z_ij (1 + gamma [z_ij z_j > 0]) for z_ij, the bias included (Andeol et al. 2021)."""
    z, alone, bias = step.value, alone_of(step.operation), bias_of(step.operation)

    def favoured(part: Tensor) -> Tensor:
        return part * (1 + gamma * (part * z > 0))

    return _divided(step, favoured(alone), favoured(bias))


@explicit
def alpha1_beta0(step: Step) -> Tensor:
    """Equation (1) with the positive part of z_ij for z_ij, the bias included (Bach et al. 2015)."""
    alone, bias = alone_of(step.operation), bias_of(step.operation)
    return _divided(step, alone.clamp(min=0), bias.clamp(min=0))


def _divided(step: Step, parts: Tensor, bias: Tensor) -> Tensor:
    """R_i = sum_j part_ij / (sum_k part_kj + bias_j) R_j, and 0 for 0 / 0.

    Without epsilon: the sum is never smaller than a part (alpha1_beta0) or than z_j, to which R_j is proportional
    (gamma), and an epsilon would outweigh sums to which only an attention weight of 1e-10, say, contributes.
    """
    (x,), total = step.copies, parts.sum(0) + bias
    shares = torch.where(total == 0, 0, parts / total)
    return step.carry(lambda relevance: [(shares * relevance).flatten(1).sum(1).reshape(x.shape)], x)


def alone_of(operation: Operation) -> Tensor:
    """z_ij, inputs x outputs: what the map makes of each input with all others zero."""
    assert isinstance(operation, Linear)
    x, weight, apply = operation.input, operation.weight, operation.apply
    return torch.vmap(lambda alone: apply(alone, weight))(torch.diag(x.flatten()).reshape(-1, *x.shape))


def bias_of(operation: Operation) -> Tensor:
    """The bias, or zero."""
    assert isinstance(operation, Linear)
    return operation.weight.new_zeros(()) if operation.bias is None else operation.bias


@explicit
def uniform(step: Step, *, epsilon: float = 0.0) -> Tensor:
    """Equations (3) and (4): each of n factors gets sum_p A_ji V_ip / (n O_jp + epsilon sign(O_jp)) R_jp.

    A factor alone is a numerator, whose denominator is held constant: it is scaled, as by any other constant.
    """
    operation = step.operation
    assert isinstance(operation, Product)
    if len(operation.factors) == 1:
        return unchanged(step, operation.factors[0])
    z, count = step.value, len(operation.factors)

    def quotient(relevance: Tensor, parts: int) -> Tensor:
        return relevance / (parts * z + (epsilon or step.epsilon) * sign(z))

    for place, factor in enumerate(operation.factors):
        held = facts.held_entries(factor)
        if held is not None:
            constant, variable = _apart(operation, place, held)
            return step.carry(_both(constant, variable, quotient, count), *operation.factors)
    share = contributions_of(operation.multiply, operation.factors)
    return step.carry(lambda relevance: share(quotient(relevance, count)), *operation.factors)


def _both(constant: Share, variable: Share, quotient: Callable[[Tensor, int], Tensor], count: int) -> Share:
    """Add what comes by entries that are held, which have one variable less, and by those that are not."""

    def share(relevance: Tensor) -> list[Tensor]:
        parts = constant(quotient(relevance, count - 1)), variable(quotient(relevance, count))
        return [of_constant + of_variable for of_constant, of_variable in zip(*parts, strict=True)]

    return share


def _apart(operation: Product, place: int, held: Tensor) -> tuple[Share, Share]:
    """Return the contributions where the factor at `place` is a constant, and where it is a variable."""

    def constant(*factors: Tensor) -> Tensor:
        constants = factors[place] * held
        return operation.multiply(*factors[:place], constants, *factors[place + 1 :])

    def variable(*factors: Tensor) -> Tensor:
        return operation.multiply(*factors[:place], factors[place] * ~held, *factors[place + 1 :])

    return contributions_of(constant, operation.factors), contributions_of(variable, operation.factors)


@explicit
def signal_take_all(step: Step, *, signal: int = -1) -> Tensor:
    """R_V = sum_j A_ji V_ip / O_jp R_jp, with A fixed: V is the last factor, unless that came out of an activation."""
    operation = step.operation
    assert isinstance(operation, Product)
    factors, chosen = operation.factors, signal % len(operation.factors)
    signals = [i for i, factor in enumerate(factors) if not facts.of(factor).is_activated]
    if signals and chosen not in signals:
        chosen = signals[0]
    return _all_to(chosen, step, operation)


def _all_to(chosen: int, step: Step, operation: Product) -> Tensor:
    """Hand all relevance to one factor; the others are fixed."""
    z, factors = step.value, operation.factors
    before, after = factors[:chosen], factors[chosen + 1 :]
    share = contributions_of(lambda x: operation.multiply(*before, x, *after), [factors[chosen]])
    return step.carry(lambda relevance: share(relevance / step.stabilized(z)), factors[chosen])


@explicit
def scan_product(step: Step) -> Tensor:
    """MambaLRP: a gate's product, y * act(z), by (3); any other to the sequence alone."""
    operation = step.operation
    assert isinstance(operation, Product)
    if operation.contracts:
        return _all_to(0, step, operation)
    is_gate = any(facts.of(factor).is_activated for factor in operation.factors)
    is_broadcast = any(factor.shape != step.value.shape for factor in operation.factors)
    return uniform(step) if is_gate and not is_broadcast else _all_to(len(operation.factors) - 1, step, operation)


@explicit
def taylor(step: Step) -> Tensor:
    """Equation (5): R_Z = Z (R_A - A sum R_A), the sum along the softmax. A masked logit has A = 0 and gets none.

    Of any other function f, x gets x f'(x) / f(x) of its relevance, which is equation (1) for its tangent.
    """
    return step.carry(_taylor_share(step), *step.copies)


def _taylor_share(step: Step) -> Share:
    return _softmax_share(step) if step.operation.kind == SOFTMAX else _proportional(step)


def _softmax_share(step: Step) -> Share:
    (x,) = step.copies
    weights, dim = step.value, step.dim
    assert dim is not None

    def share(relevance: Tensor) -> list[Tensor]:
        rest = relevance - weights * relevance.sum(dim, keepdim=True)
        return [torch.where(weights == 0, 0, x * rest)]  # not 0 * -inf

    return share


@explicit
def identity(step: Step) -> Tensor:
    """R_x = R_g(x), entry by entry (Arras et al. 2025, D.3); zero inputs get none."""
    assert isinstance(step.operation, Pointwise)
    x = step.operation.input
    is_passed = x != 0
    return step.carry(lambda relevance: [relevance * is_passed], x)


@explicit
def norm_as_linear(step: Step) -> Tensor:
    """Equation (1) for the linear map that a norm is once its deviation is fixed (Ali et al. 2022)."""
    operation = step.operation
    assert isinstance(operation, Norm)
    x, z = operation.input, step.value

    def centered(value: Tensor) -> Tensor:
        groups = operation.grouped(value)
        return groups - groups.mean(operation.dims, keepdim=True) if operation.centered else groups

    deviation = torch.sqrt(centered(x).square().mean(operation.dims, keepdim=True) + operation.eps)
    weight = 1.0 if operation.weight is None else operation.weight
    share = contributions_of(lambda value: (centered(value) / deviation).reshape(value.shape) * weight, [x])
    return step.carry(lambda relevance: share(relevance / step.stabilized(z)), x)


@explicit
def stop(step: Step, *, heads: list[int] | tuple[int, ...] | None = None) -> Tensor:
    """A constant: nothing goes further back (CP-LRP's softmax). With `heads`, only these are constants (1-based)."""
    if heads is None:
        return step.value
    numbers = torch.arange(1, step.value.shape[1] + 1, device=step.value.device)
    held = torch.isin(numbers, torch.tensor(heads, device=numbers.device)).reshape(-1, *(1,) * (step.value.dim() - 2))
    share = _taylor_share(step)
    return facts.hold(step.carry(lambda relevance: share(relevance.masked_fill(held, 0)), *step.copies), held)
