"""The strategies of the search as property tests of our own rules: on any small expression, however it is written."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from torch import Tensor

import axioms
from axioms.core.errors import UncoveredOperation
from axioms.core.registry import METHODS
from axioms.search.falsify import LEAST_VALUE, NEAREST_KINK, compare
from axioms.search.strategies import Example, examples, expressions
from axioms.subjects.models.expressions import Expression, variables, walk
from axioms.subjects.models.modules.expression import ExpressionModel

POINT = {"a": 1.25, "b": -0.75, "c": 2.0}


def scene(expression: Expression) -> tuple[ExpressionModel, Tensor]:
    """The expression and a point at which no part of it is zero or at a kink.

    Where a part is zero, relevance carried through it is lost, and relevance as a gradient times the input is not.
    """
    for part in walk(expression):
        names = variables(part)
        model, point = ExpressionModel(part, names), torch.tensor([[POINT[name] for name in names]]).double()
        assume(abs(float(model(point))) > LEAST_VALUE and model.closest_kink > NEAREST_KINK)
    names = variables(expression)
    return ExpressionModel(expression, names), torch.tensor([[POINT[name] for name in names]]).double()


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
@given(expression=expressions())
def test_both_engines_give_the_same_or_refuse_alike(method: str, expression: Expression) -> None:
    model, point = scene(expression)
    found: list[Tensor | str] = []
    for engine in ("fast", "explicit"):
        try:
            found.append(axioms.attribute(model, point, 0, method, engine=engine).scores)
        except UncoveredOperation:
            found.append("refused")
    fast, explicit = found
    if isinstance(fast, str) or isinstance(explicit, str):
        assert fast == explicit
    else:
        torch.testing.assert_close(fast, explicit, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", ["attnlrp", "degree_lrp"])
@given(expression=expressions())
def test_the_ledger_closes(method: str, expression: Expression) -> None:
    model, point = scene(expression)
    try:
        found = axioms.attribute(model, point, 0, method, ledger=True)
    except UncoveredOperation:
        assume(False)
    assert found.ledger is not None
    size = max(1.0, abs(found.ledger.output), *(abs(each.arrived) for each in found.ledger.entries))
    assert abs(found.ledger.unexplained) <= 1e-9 * size


@given(example=examples().filter(lambda each: each.step in ("associativity", "commutativity")))
def test_degrees_do_not_see_how_products_and_sums_are_grouped(example: Example) -> None:
    """Of a product of products each factor gets the share of its degree; the largest of degrees is associative too."""
    found = compare(METHODS.get("degree_lrp"), example)
    assert found is None or found[2] <= 1e-9


@pytest.mark.parametrize("method", ["removal_taylor", "removal_grouped", "loo_adaptive"])
@given(example=examples())
def test_gates_do_not_see_how_the_function_is_written(method: str, example: Example) -> None:
    found = compare(METHODS.get(method), example)
    assert found is None or found[2] <= 1e-6
