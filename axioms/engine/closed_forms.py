"""What each rule keeps back, in closed form: coefficients c such that sum_k c_k g_k is kept where g is the gradient.

A rule that sends g on by its plain gradient passes on (D f)(x) x, which is f(x) for a linear map, n f(x) for a product
of n factors and k f(x) for a function of degree k (Euler). What is kept is f(x) minus that, term by term (`_plain`).
Nothing here looks at the rules' code or at relevance that came out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from axioms.core.registry import RULES
from axioms.engine import facts
from axioms.engine.composite import RuleRef
from axioms.engine.kinds import ACTIVATION, GATE, NORMALIZER, SOFTMAX
from axioms.engine.operations import Block, Linear, Norm, Operation, Pointwise, Product, Softmax, Sum

Absorbed = dict[str, Tensor]
"""Coefficients c by what keeps the relevance: bias, position, epsilon, softmax, norm, gradient."""
Options = Mapping[str, Any]

DEGREES = {"rsqrt": -0.5, "sqrt": 0.5, "std": 1.0, "var": 2.0, "norm": 1.0, "vector_norm": 1.0}
"""Normalizers are homogeneous functions of what they are given: (D f)(x) x = degree * f(x)."""
ABSORBERS = {SOFTMAX: "softmax", NORMALIZER: "norm", ACTIVATION: "gradient", GATE: "gradient"}


def absorbed_by(operation: Operation, value: Tensor, rule: RuleRef | None) -> Absorbed:
    """Return what an operation absorbs under its rule, as coefficients of the gradient of its value."""
    closed_form: Callable[..., Absorbed] = _plain
    if rule is not None:
        # Of a user's rule that says nothing, nothing is known: the ledger's remainder shows what it keeps.
        closed_form = CLOSED_FORMS.get(rule.name) or RULES.get(rule.name).absorbs or _nothing
    with torch.no_grad():
        return closed_form(operation, value, {} if rule is None else rule.options)


def _constants(operation: Operation) -> Absorbed:
    """Return the constants of an operation that is linear in its variables: each absorbs itself times its gradient."""
    if isinstance(operation, Linear | Norm):
        return {} if operation.bias is None else {"bias": operation.bias}
    if isinstance(operation, Sum):
        return {"position": operation.constants[0]} if operation.constants else {}  # one at most: the other varies
    return {}


def _affine(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """Return what constants absorb; nothing else does."""
    return _constants(operation)


def _plain(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """Return f(x) - (D f)(x) x, which is absorbed where relevance follows the plain gradient."""
    absorbed = _constants(operation)
    if isinstance(operation, Product):
        return {"gradient": value * (1 - len(operation.factors))}
    if isinstance(operation, Norm):
        return {**absorbed, "norm": _without_bias(operation, value) * (1 - _share_of_eps(operation))}
    if isinstance(operation, Pointwise):
        return {ABSORBERS[operation.kind]: value - _passed(operation, value)}
    return absorbed


def _passed(operation: Pointwise, value: Tensor) -> Tensor:
    """Return (D f)(x) x, which the plain gradient passes on."""
    if isinstance(operation, Softmax):  # equation (5) with R_A = A g
        logits = torch.where(value == 0, 0.0, operation.input)  # a masked logit is -inf and has no weight
        return value * (logits - (logits * value).sum(operation.dim, keepdim=True))
    if operation.kind == NORMALIZER:
        return value * DEGREES[operation.name.strip("_").removeprefix("linalg_")]
    return operation.input * _slope(operation)


def _without_bias(operation: Norm, value: Tensor) -> Tensor:
    return value if operation.bias is None else value - operation.bias


def _share_of_eps(operation: Norm) -> Tensor:
    """Return eps / (variance + eps), group by group: a norm without epsilon does not see the size of its input."""
    x = operation.grouped(operation.input)
    centered = x - x.mean(operation.dims, keepdim=True) if operation.centered else x
    share = operation.eps / (centered.square().mean(operation.dims, keepdim=True) + operation.eps)
    return share.expand_as(x).reshape(operation.input.shape)


def _slope(operation: Pointwise) -> Tensor:
    """Return g'(x), entry by entry, on a copy of x: nothing that listens to the model's graph hears of it."""
    with torch.enable_grad(), torch._C.DisableTorchFunction():
        x = operation.input.clone().requires_grad_()
        value = operation.function(x.view_as(x))  # which may work in place
        (slope,) = torch.autograd.grad(value, x, torch.ones_like(value))
    return slope


def _epsilon(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """Of what the plain gradient would pass on, z / (z + eps sign z) is passed on: the stabilizer keeps the rest."""
    factor = _share(value, 1, options.get("epsilon", 0.0))
    for term in operation.terms if isinstance(operation, Sum) else ():
        factor = torch.where(term == 0, 1.0, factor)  # nothing was split there
    absorbed = {name: coefficient * factor for name, coefficient in _plain(operation, value, {}).items()}
    return {**absorbed, "epsilon": value * (1 - factor)}


def _uniform(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """Each of n factors gets z^2 / (n z + eps sign z); the stabilizer keeps the rest."""
    assert isinstance(operation, Product)
    n = len(operation.factors)
    if n == 1:  # a division by something held constant
        return {}
    epsilon = options.get("epsilon", 0.0)
    for place, factor in enumerate(operation.factors):
        held = facts.held_entries(factor)
        if held is not None:
            others = operation.factors[:place], operation.factors[place + 1 :]
            constant = operation.multiply(*others[0], torch.where(held, factor, 0), *others[1])
            absorbed = constant * (1 - (n - 1) * _share(value, n - 1, epsilon))
            return {"epsilon": absorbed + (value - constant) * (1 - n * _share(value, n, epsilon))}
    return {"epsilon": value * (1 - n * _share(value, n, epsilon))}


def _stop(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """A head that is held constant keeps all that arrives; the others are crossed by the plain gradient.

    Without heads the value is a constant, at which nothing arrives.
    """
    heads = [head - 1 for head in options["heads"]]
    held = torch.zeros(value.shape[1], dtype=torch.bool, device=value.device)
    held[heads] = True
    held = held.reshape(-1, *(1,) * (value.dim() - 2))
    absorbed = {name: torch.where(held, 0.0, coefficient) for name, coefficient in _plain(operation, value, {}).items()}
    name = ABSORBERS.get(operation.kind, "gradient")
    return {**absorbed, name: absorbed.get(name, torch.zeros_like(value)) + torch.where(held, value, 0.0)}


def _aumann_shapley(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """A block keeps what it puts out at zero: its path begins there."""
    assert isinstance(operation, Block)
    return {"bias": operation.function(*(torch.zeros_like(x) for x in operation.inputs))}


def _gamma(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """The bias counts 1 + gamma times where it has the output's sign."""
    assert isinstance(operation, Linear)
    if operation.bias is None:
        return {}
    bias = operation.bias
    favoured = bias * (1 + options.get("gamma", 0.25) * (bias * value > 0))
    positive = _positive(operation, operation.input) * options.get("gamma", 0.25)
    negative = _positive(operation, -operation.input) * -options.get("gamma", 0.25)
    total = value - bias + torch.where(value > 0, positive, negative) + favoured
    return {"bias": favoured * _quotient(value, total)}


def _alpha1_beta0(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """The bias keeps its positive part's share; where next to nothing is positive, nothing is passed on."""
    assert isinstance(operation, Linear)
    positive = _positive(operation, operation.input)
    bias = torch.zeros_like(value) if operation.bias is None else operation.bias.clamp(min=0)
    total = positive + bias
    nothing = total.abs() < value.abs() * torch.finfo(value.dtype).eps
    return {"bias": bias * _quotient(value, total) * ~nothing, "epsilon": value * nothing}


def _positive(operation: Linear, x: Tensor) -> Tensor:
    """Return the sum of the positive contributions of x."""
    more, less = operation.weight.clamp(min=0), operation.weight.clamp(max=0)
    return operation.apply(x.clamp(min=0), more) + operation.apply(x.clamp(max=0), less)


def _nothing(operation: Operation, value: Tensor, options: Options) -> Absorbed:
    """Return nothing: all that arrives goes on, entry by entry or to one factor."""
    return {}


def _share(value: Tensor, parts: Tensor | int, epsilon: float) -> Tensor:
    """Return z / (parts z + eps sign z), and 1 / parts at eps 0."""
    if epsilon == 0:
        return torch.ones_like(value) / parts
    share = value / (parts * value + epsilon * torch.where(value < 0, -1.0, 1.0).to(value.dtype))
    return torch.where(value.isinf(), 1 / parts, share)


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    return torch.where(denominator == 0, 0.0, numerator / torch.where(denominator == 0, 1.0, denominator))


ClosedForm = Callable[[Operation, Tensor, Options], Absorbed]
CLOSED_FORMS: dict[str, ClosedForm] = {
    "epsilon": _epsilon,
    "uniform": _uniform,
    "degree": _uniform,
    "aumann_shapley": _aumann_shapley,
    "gamma": _gamma,
    "alpha1_beta0": _alpha1_beta0,
    "identity": _nothing,
    "signal_take_all": _nothing,
    "scan_product": _nothing,
    "norm_as_linear": _affine,
    "taylor": _plain,
    "stop": _stop,
}
