"""Polynomial degrees through the forward pass, and the product rule that splits by them.

The degree of a variable: a feature has 1; linear maps, moves and copies keep it; a product has the sum of its
factors' degrees; a nonlinearity, a softmax or a norm starts anew at 1. Constants (biases, positions) have none of
their own: what they are added to keeps its degree, and in the backward pass they keep their share, as everywhere in
LRP.

A sum of unequal degrees takes the *largest*. No single number can be right there; see `axioms/methods/degree.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from axioms.engine.engine import Propagation
from axioms.engine.gradients import scale_gradient, stabilized
from axioms.engine.operations import NORMALIZER, Linear, Operation, Product, Sum, variables
from axioms.engine.rules import DEGREE, rule

NORMALIZES = "_axioms_normalizes"
"""Mark of a deviation or its inverse, which is held constant: a product with it is a norm."""
SCALES = frozenset("mul __mul__ __rmul__ multiply div __truediv__ true_divide divide".split())
WRITES = frozenset("__setitem__ copy_ index_put_ index_add_ scatter_ scatter_add_ masked_fill_".split())
"""Calls that put variables into their first argument."""


class Degrees(Propagation):
    """Propagation that knows the degree of every variable."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        value = super().__torch_function__(func, types, args, kwargs)
        given = (*args, *(kwargs or {}).values())
        name = getattr(func, "__name__", "")
        if name in WRITES and args[0].requires_grad:
            setattr(args[0], DEGREE, joined(variables(given)))
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, Tensor):
                self._mark(each, name, given)
        return value

    def _mark(self, value: Tensor, name: str, given: tuple[Any, ...]) -> None:
        normalizes = any(hasattr(each, NORMALIZES) for each in given)
        if not value.requires_grad:
            if normalizes:
                setattr(value, NORMALIZES, True)
        elif normalizes and name in SCALES:
            setattr(value, DEGREE, 1)
        elif not hasattr(value, DEGREE):
            setattr(value, DEGREE, joined(variables(given)))

    def apply(self, operation: Operation) -> Tensor:
        """The operation's value under its rule, with its degree."""
        value = super().apply(operation)
        if operation.kind == NORMALIZER and not value.requires_grad:
            setattr(value, NORMALIZES, True)
        degree = degree_after(operation)
        if degree is not None:
            setattr(value, DEGREE, degree)
        return value


def degree_after(operation: Operation) -> int | None:
    """The degree of what an operation puts out; None for a reduction, which keeps that of its argument."""
    if isinstance(operation, Sum):
        return joined(variables(operation.terms)) if operation.terms else None
    if isinstance(operation, Linear):
        return degree_of(operation.input)
    if isinstance(operation, Product) and operation.name != "division":
        return sum(map(degree_of, operation.factors))
    return 1


def degree_of(value: Tensor) -> int:
    """The degree of a variable; of a feature 1."""
    return getattr(value, DEGREE, 1)


def joined(values: Iterable[Tensor]) -> int:
    """The degree of values that meet in a sum or stand beside each other: the largest."""
    return max(map(degree_of, values), default=1)


class _Weighted(torch.autograd.Function):
    """The value itself; its gradient times a factor. Not in place: the value goes elsewhere as well."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.factor, None


@rule
def degree(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """Each of n factors gets d_k / mean(d) times what the uniform rule would give it, where d are their degrees.

    So the shares are d_k / sum(d), and the stabilizer keeps what it keeps there: z / (n z + epsilon sign(z)).
    """
    assert isinstance(operation, Product)
    degrees = [degree_of(factor) for factor in operation.factors]
    count = len(degrees)
    if count == 1:
        return operation.forward()
    if len(set(degrees)) == 1:
        value = operation.forward()
    else:
        shares = (count * each / sum(degrees) for each in degrees)
        value = operation.multiply(*map(_Weighted.apply, operation.factors, shares))
    return scale_gradient(value, stabilized(value, count, epsilon))
