"""Hypothesis strategies: models of one or two expressions on which an axiom can be asked, and a point."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from axioms.search.strategies import COORDINATES, FEATURES, KINDS, NAMES, blocks, grow, has_block
from axioms.subjects.models.expressions import (
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
)

LEAVES: st.SearchStrategy[Expression] = st.one_of(FEATURES, FEATURES, FEATURES, st.just(Number(1.0)))
"""Features, and now and then a constant: without one nothing saturates."""


@dataclass(frozen=True)
class Instance:
    """A model with one output for each expression, and where to look at it."""

    expressions: tuple[Expression, ...]
    point: dict[str, float]

    @property
    def size(self) -> int:
        """How many operations it has."""
        return sum(map(operations, self.expressions))


@st.composite
def one_output(draw: st.DrawFn) -> Instance:
    """Draw a model of one expression."""
    return _at_a_point(draw, draw(_functions(3, KINDS[1:])))


@st.composite
def that_may_saturate(draw: st.DrawFn) -> Instance:
    """Draw an expression, or 1 - relu(1 - expression): what is more than one adds nothing."""
    x, one = draw(_functions(2)), Number(1.0)
    saturated = Binary("-", one, Activation("relu", Binary("-", one, x)))
    return _at_a_point(draw, draw(st.sampled_from([x, saturated])))


@st.composite
def two_outputs(draw: st.DrawFn) -> Instance:
    """Draw a model of two expressions."""
    return _at_a_point(draw, draw(_functions(2)), draw(_functions(2)))


@st.composite
def two_classes(draw: st.DrawFn) -> Instance:
    """Draw two expressions, of which the second may be minus the first: evidence for one class against another."""
    first = draw(_functions(2))
    opposite = Binary("*", Number(-1.0), first)
    return _at_a_point(draw, first, draw(st.one_of(st.just(opposite), _functions(2))))


@st.composite
def with_null_feature(draw: st.DrawFn) -> Instance:
    """Draw an expression of a and b, and put c into it so that it changes nothing."""
    leaves: st.SearchStrategy[Expression] = st.sampled_from(NAMES[:2]).map(Variable)
    x, nothing = grow(draw, 2, leaves), grow(draw, 1, st.just(Variable("c")))
    kind = draw(st.sampled_from(["unused", "subtracted", "times zero", "one map", "shift", "divided out"]))
    if kind == "unused":
        return Instance((x,), {**_point(draw, x), "c": draw(COORDINATES)})
    whole: Expression
    if kind == "subtracted":
        whole = Binary("+", x, Binary("-", nothing, nothing))
    elif kind == "times zero":
        whole = Binary("+", x, Binary("*", Number(0.0), nothing))
    elif kind == "one map":
        whole = Linear((1.0, 1.0, -1.0), (x, nothing, nothing))
    else:
        name = "softmax" if kind == "shift" else "layer_norm"
        whole = Entry(name, (Binary("+", x, nothing), Binary("+", Number(1.0), nothing)), 0)
    return _at_a_point(draw, whole)


@st.composite
def with_symmetry(draw: st.DrawFn) -> Instance:
    """Draw an expression in which a and b stand in one sum, product or map, however it is grouped."""
    a, b, other = Variable("a"), Variable("b"), draw(st.one_of(st.just(Variable("c")), st.just(Number(1.0))))
    operands = draw(st.permutations([a, b, *([other] if draw(st.booleans()) else [])]))
    sign = draw(st.sampled_from(["*", "+", "map"]))
    core: Expression
    if sign == "map":
        core = Linear(tuple(1.0 for _ in operands), tuple(operands))
    else:
        core = operands[-1]
        for operand in operands[-2::-1]:
            core = Binary(sign, operand, core)
    around: st.SearchStrategy[Expression] = st.one_of(st.just(core), st.just(Variable("c")))
    return _at_a_point(draw, draw(st.one_of(st.just(core), st.composite(grow)(2, around))))


@st.composite
def block_with_null_feature(draw: st.DrawFn) -> Instance:
    """Draw a block over a and b that does not read c, or whose logits c moves all alike."""
    tokens: st.SearchStrategy[Expression] = st.sampled_from(NAMES[:2]).map(Variable)
    whole = draw(blocks(tokens))
    if draw(st.booleans()):
        return Instance((whole,), {**_point(draw, whole), "c": draw(COORDINATES)})
    assert isinstance(whole, Attention)
    keys = tuple(Binary("+", key, Variable("c")) for key in whole.keys)
    return _at_a_point(draw, Attention(whole.query, keys, whole.values))


@st.composite
def block_with_symmetry(draw: st.DrawFn) -> Instance:
    """Draw a block whose keys and values are a, b and perhaps something else, in any order."""
    a, b, other = Variable("a"), Variable("b"), draw(st.one_of(st.just(Variable("c")), st.just(Number(1.0))))
    tokens = tuple(draw(st.permutations([a, b, *([other] if draw(st.booleans()) else [])])))
    block: Expression = Attention(other, tokens, tokens)
    return _at_a_point(draw, draw(st.sampled_from([block, Binary("*", other, block)])))


@st.composite
def one_block(draw: st.DrawFn) -> Instance:
    """Draw a model of one attention block, or of an operation on some."""
    return _at_a_point(draw, draw(_of_blocks(1)))


@st.composite
def two_blocks(draw: st.DrawFn) -> Instance:
    """Draw a model of two outputs, at least one of them of attention blocks."""
    return _at_a_point(draw, draw(_of_blocks(1)), draw(st.one_of(_functions(1), _of_blocks(1))))


STRATEGIES = {
    "linearity": (two_outputs, two_blocks),
    "antisymmetry": (two_outputs, two_blocks),
    "scale": (one_output, one_block),
    "null_player": (with_null_feature, block_with_null_feature),
    "sensitivity": (that_may_saturate, one_block),
    "symmetry": (with_symmetry, block_with_symmetry),
    "completeness": (one_output, one_block),
    "path_antisymmetry": (one_output, one_block),
    "target_sensitivity": (two_classes, two_blocks),
}
"""The exact axioms of one model, and what they are asked of: expressions first, then small attention blocks."""


def _of_blocks(deepest: int) -> st.SearchStrategy[Expression]:
    """Return a strategy of expressions whose leaves are features or attention blocks of features."""
    leaves = st.one_of(blocks(FEATURES), FEATURES)
    return st.integers(0, deepest).flatmap(lambda depth: st.composite(grow)(depth, leaves)).filter(has_block)


def _functions(deepest: int, kinds: tuple[str, ...] = KINDS) -> st.SearchStrategy[Expression]:
    """Return a strategy of expressions that name a feature: what is constant has no gradient and no relevance."""
    return st.composite(grow)(deepest, LEAVES, kinds).filter(variables)


def _at_a_point(draw: st.DrawFn, *expressions: Expression) -> Instance:
    return Instance(expressions, _point(draw, *expressions))


def _point(draw: st.DrawFn, *expressions: Expression) -> dict[str, float]:
    """Draw a number for every feature."""
    names = sorted({name for expression in expressions for name in variables(expression)})
    return {name: draw(COORDINATES) for name in names}
