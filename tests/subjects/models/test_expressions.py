"""Expressions: read, written, computed, and rewritten without changing their value."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.search.falsify import compare
from axioms.search.strategies import Example, examples, expressions, expressions_of_blocks
from axioms.subjects.models.expressions import Binary, Linear, Variable, operations, parse, variables
from axioms.subjects.models.modules.expression import ExpressionModel


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(a*a)*b", 12.0),
        ("a - b*2", -4.0),
        ("relu(b - a)", 1.0),
        ("linear([2, -1], [a, b])", 1.0),
        ("softmax([a, b])[0]", 1 / (1 + math.e)),
        ("tanh(a) + silu(-1*b)", math.tanh(2) - 3 / (1 + math.exp(3))),
        ("rms_norm([a, b])[1]", 3 / math.sqrt((4 + 9) / 2 + 1e-2)),
        ("layer_norm([a, b])[1]", 0.5 / math.sqrt(0.25 + 1e-2)),
        ("attention(1, [a, b], [b, a])", 3 / (1 + math.e) + 2 / (1 + 1 / math.e)),
        ("attention(a, [1, b], [5, b])", 5 / (1 + math.exp(4)) + 3 / (1 + math.exp(-4))),
        ("gelu(a)", 2 * 0.5 * (1 + math.erf(2 / math.sqrt(2)))),
    ],
)
def test_values_by_hand(text: str, value: float) -> None:
    model = ExpressionModel(parse(text), ["a", "b"])
    assert float(model(torch.tensor([[2.0, 3.0]], dtype=torch.float64))) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.b",
        "a / b",
        "a if b else a",
        "[x for x in a]",
        "softmax([a, b])[5]",
        "softmax([a, b])",
        "linear([a], [b])",
        "linear([1, 2], [b])",
        "attention(a, [a, b], [a])",
        "attention(a, [], [])",
        "eval('1')",
        "relu(a, b)",
        "True",
        "'a'",
        "a +",
        "(" * 500,
        "-".join(["(a"] * 80) + ")" * 80,
    ],
)
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


def test_it_knows_its_features() -> None:
    expression = parse("b*relu(a + a)")
    assert variables(expression) == ["a", "b"]
    assert operations(expression) == 3
    with pytest.raises(InputError, match="names"):
        ExpressionModel(expression, ["a"])
    with pytest.raises(InputError, match="the data has 3"):
        ExpressionModel(expression)(torch.ones(1, 3))


@given(st.one_of(expressions(), expressions_of_blocks()))
def test_text_comes_back(expression: object) -> None:
    assert str(parse(str(expression))) == str(expression)


@given(st.one_of(examples(), examples(of_blocks=True)))
def test_rewriting_keeps_the_value(example: Example) -> None:
    point = torch.tensor([[*example.point.values()]], dtype=torch.float64)
    left, right = (ExpressionModel(side, list(example.point))(point) for side in (example.left, example.right))
    torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", ["loo", "gradient_x_input", "integrated_gradients"])
@given(example=examples())
def test_methods_of_the_function_do_not_see_how_it_is_written(method: str, example: Example) -> None:
    difference = compare(METHODS.get(method), example)
    assert difference is None or difference[2] <= 1e-6


def test_a_wrong_equivalence_is_an_error() -> None:
    from axioms.core.errors import AxiomsError

    wrong = Example(
        Binary("*", Variable("a"), Variable("b")),
        Linear((1.0, 1.0), (Variable("a"), Variable("b"))),
        "wrong",
        {"a": 2.0, "b": 3.0},
    )
    with pytest.raises(AxiomsError, match="wrong is wrong"):
        compare(METHODS.get("loo"), wrong)
