"""Hypothesis strategies: a small expression, an equivalent one, and a point. Simple ones come first in shrinking."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from axioms.search.equivalences import rewritings
from axioms.subjects.models.expressions import (
    ACTIVATIONS,
    VECTOR_FUNCTIONS,
    Activation,
    Binary,
    Entry,
    Expression,
    Linear,
    Variable,
    operations,
    variables,
)

NAMES = ("a", "b", "c")
WEIGHTS = (1.0, 2.0, -1.0, 0.5)
KINDS = ("variable", "*", "*", "*", "+", "-", "activation", "linear", "entry")
"""Products most often: most steps work on products inside products."""


@dataclass(frozen=True)
class Example:
    """Two expressions of the same function, the step between them, and where to look at them."""

    left: Expression
    right: Expression
    step: str
    point: dict[str, float]

    @property
    def size(self) -> tuple[int, int]:
        """Operations and features: what is made small."""
        return operations(self.left), len(self.point)


@st.composite
def expressions(draw: st.DrawFn, deepest: int = 3) -> Expression:
    """Draw sums, products, linear maps, activations, softmax and norms of up to three features."""
    return _grown(draw, deepest, KINDS[1:])


def _grown(draw: st.DrawFn, depth: int, kinds: tuple[str, ...] = KINDS) -> Expression:
    kind = draw(st.sampled_from(kinds)) if depth else "variable"
    if kind == "variable":
        return Variable(draw(st.sampled_from(NAMES)))
    if kind in ("*", "+", "-"):
        return Binary(kind, _grown(draw, depth - 1), _grown(draw, depth - 1))
    if kind == "activation":
        return Activation(draw(st.sampled_from(ACTIVATIONS)), _grown(draw, depth - 1))
    values = tuple(_grown(draw, depth - 1) for _ in range(draw(st.integers(2, 3))))
    if kind == "linear":
        return Linear(tuple(draw(st.sampled_from(WEIGHTS)) for _ in values), values)
    return Entry(draw(st.sampled_from(VECTOR_FUNCTIONS)), values, draw(st.integers(0, len(values) - 1)))


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Draw an expression, one step from it, and a point of small whole numbers away from zero."""
    left = draw(expressions().filter(lambda expression: any(True for _ in rewritings(expression))))
    others = list(rewritings(left))
    step = draw(st.sampled_from(list(dict.fromkeys(name for name, _ in others))))  # none is rarer than another
    right = draw(st.sampled_from([other for name, other in others if name == step]))
    point = {name: float(draw(st.sampled_from([1, 2, 3, -1, -2]))) for name in variables(left)}
    return Example(left, right, step, point)
