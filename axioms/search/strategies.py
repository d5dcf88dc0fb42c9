"""Hypothesis strategies: a small expression, an equivalent one, and a point. Simple ones come first in shrinking."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from axioms.search.equivalences import rewritings
from axioms.search.expressions import (
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
LARGEST = 12
"""Operations in an expression."""


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


def expressions() -> st.SearchStrategy[Expression]:
    """Sums, products, linear maps, activations, softmax and norms of up to three features."""
    leaves: st.SearchStrategy[Expression] = st.sampled_from(NAMES).map(Variable)
    weights = st.sampled_from([1.0, 2.0, -1.0, 0.5])

    def larger(inside: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        vectors = st.lists(inside, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Binary, st.sampled_from(["*", "*", "+", "-"]), inside, inside),
            st.builds(Activation, st.sampled_from(ACTIVATIONS), inside),
            vectors.flatmap(
                lambda values: st.lists(weights, min_size=len(values), max_size=len(values)).map(
                    lambda numbers: Linear(tuple(numbers), values)
                )
            ),
            vectors.flatmap(
                lambda values: st.builds(
                    Entry, st.sampled_from(VECTOR_FUNCTIONS), st.just(values), st.integers(0, len(values) - 1)
                )
            ),
        )

    return st.recursive(leaves, larger, max_leaves=6).filter(lambda each: 1 <= operations(each) <= LARGEST)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """An expression, one step from it, and a point of small whole numbers away from zero."""
    left = draw(expressions().filter(lambda each: any(True for _ in rewritings(each))))
    step, right = draw(st.sampled_from(list(rewritings(left))))
    point = {name: float(draw(st.sampled_from([1, 2, 3, -1, -2]))) for name in variables(left)}
    return Example(left, right, step, point)
