"""Hypothesis strategies: a small expression, an equivalent one, and a point. Simple ones come first in shrinking."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from axioms.search.equivalences import rewritings
from axioms.subjects.models.expressions import (
    ACTIVATIONS,
    VECTOR_FUNCTIONS,
    Activation,
    Attention,
    Binary,
    Entry,
    Expression,
    Linear,
    Number,
    Variable,
    operations,
    variables,
    walk,
)

NAMES = ("a", "b", "c")
WEIGHTS = (1.0, 2.0, -1.0, 0.5)
KINDS = ("variable", "*", "*", "*", "+", "-", "activation", "linear", "entry")
"""Products most often: most steps work on products inside products."""
FEATURES: st.SearchStrategy[Expression] = st.sampled_from(NAMES).map(Variable)
FACTORS = st.sampled_from(WEIGHTS)
COORDINATES = st.sampled_from([1.0, 2.0, 3.0, -1.0, -2.0])
"""Small whole numbers away from zero."""


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
def blocks(draw: st.DrawFn, leaves: st.SearchStrategy[Expression]) -> Expression:
    """Draw an attention block over two or three tokens: one query, and keys and values that are multiples of them."""
    tokens = [draw(leaves) for _ in range(draw(st.integers(2, 3)))]
    query = draw(st.one_of(st.just(Number(1.0)), leaves))
    keys, values = ([_times(weight, token) for token in tokens] for weight in (draw(FACTORS), draw(FACTORS)))
    return Attention(query, tuple(keys), tuple(values))


def _times(weight: float, token: Expression) -> Expression:
    return token if weight == 1 else Binary("*", Number(weight), token)


def has_block(expression: Expression) -> bool:
    """Tell whether there is attention in it."""
    return any(isinstance(node, Attention) for node in walk(expression))


@st.composite
def expressions(draw: st.DrawFn, deepest: int = 3) -> Expression:
    """Draw sums, products, linear maps, activations, softmax and norms of up to three features."""
    return grow(draw, deepest, FEATURES, KINDS[1:])


@st.composite
def expressions_of_blocks(draw: st.DrawFn) -> Expression:
    """Draw an attention block, or an operation on some."""
    return grow(draw, draw(st.integers(0, 1)), blocks(FEATURES))


def grow(
    draw: st.DrawFn, depth: int, leaves: st.SearchStrategy[Expression], kinds: tuple[str, ...] = KINDS
) -> Expression:
    """Draw an expression of these leaves; `kinds` are the operations that its root may be."""
    kind = draw(st.sampled_from(kinds)) if depth else "variable"
    if kind == "variable":
        return draw(leaves)
    if kind in ("*", "+", "-"):
        return Binary(kind, grow(draw, depth - 1, leaves), grow(draw, depth - 1, leaves))
    if kind == "activation":
        return Activation(draw(st.sampled_from(ACTIVATIONS)), grow(draw, depth - 1, leaves))
    values = tuple(grow(draw, depth - 1, leaves) for _ in range(draw(st.integers(2, 3))))
    if kind == "linear":
        return Linear(tuple(draw(st.sampled_from(WEIGHTS)) for _ in values), values)
    return Entry(draw(st.sampled_from(VECTOR_FUNCTIONS)), values, draw(st.integers(0, len(values) - 1)))


@st.composite
def examples(draw: st.DrawFn, of_blocks: bool = False) -> Example:
    """Draw an expression, one step from it, and a point of small whole numbers away from zero."""
    drawn = expressions_of_blocks() if of_blocks else expressions()
    left = draw(drawn.filter(lambda expression: any(True for _ in rewritings(expression))))
    others = list(rewritings(left))
    step = draw(st.sampled_from(list(dict.fromkeys(name for name, _ in others))))  # none is rarer than another
    right = draw(st.sampled_from([other for name, other in others if name == step]))
    point = {name: draw(COORDINATES) for name in variables(left)}
    return Example(left, right, step, point)
