"""The axioms of the function, both ways: a method that keeps one passes, a fault of 1% of its largest score fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from axioms.core.errors import InputError, NotDefined
from axioms.core.registry import METHODS
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Write = Callable[..., Path]

SPEC = """claim: c
subject:
  model: {{expression: {{values: {values}, inputs: [a, b, c]}}}}
  data: {{points: [[1, 2, 3], [2, -1, 0.5]]}}
  target: 0
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: {axiom}
"""
TWO = '["a*b + tanh(c)", "gelu(a) - 2*b"]'
SYMMETRIC = '"tanh(a + b)*c"'


def run(write_spec: Write, values: str, method: str, axiom: str) -> Result:
    text = SPEC.format(values=values, method=method, axiom=axiom)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


def off(scores: Tensor) -> Tensor:
    """The scores with one percent of the largest added to the first feature."""
    faulty = scores.clone()
    faulty[:, 0] += 0.01 * scores.abs().amax(dim=1)
    return faulty


@pytest.fixture
def seed_fault(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make a method return other scores than it would."""

    def seed(name: str, change: Callable[[Tensor], Tensor] = off) -> None:
        original = METHODS.get(name)

        def faulty(model: Any, inputs: Any, target: Any, **options: Any) -> Any:
            returned = original.function(model, inputs, target, **options)
            if hasattr(returned, "scores"):
                return returned._replace(scores=change(returned.scores))
            return change(returned)

        faulty.__module__ = original.function.__module__
        monkeypatch.setitem(METHODS._entries, name, dataclasses.replace(original, function=faulty))

    return seed


@pytest.mark.parametrize(
    ("values", "method", "axiom"),
    [
        (TWO, "gradient_x_input", "linearity"),
        (TWO, "loo", "linearity"),
        (TWO, "attnlrp", "linearity"),
        (TWO, "integrated_gradients", "antisymmetry"),
        (TWO, "cp_lrp", "scale"),
        ('"b*c + (a - a)"', "attnlrp", "null_player"),
        ('"b*c + 0*relu(a)"', "loo", "{null_player: {by: removal}}"),
        (SYMMETRIC, "integrated_gradients", "symmetry"),
        ('"a*b*c"', "loo", "{symmetry: {by: removal}}"),
        ('"a*b*c"', "integrated_gradients", "completeness"),
        ('"a*b*c"', "integrated_gradients", "path_antisymmetry"),
    ],
)
def test_kept_and_broken(
    write_spec: Write, seed_fault: Callable[..., None], values: str, method: str, axiom: str
) -> None:
    assert run(write_spec, values, method, axiom).judgement.passed
    seed_fault(method)
    result = run(write_spec, values, method, axiom)
    assert result.judgement.verdict == "violated"


def value(result: Result, name: str) -> Any:
    return result.measurement.quantity(name).value


@pytest.mark.parametrize(
    ("values", "method", "axiom", "name", "expected"),
    [
        # at (1, 2, 3): (1.25 - 1) / 7.75 of 6 to a, half of 7.5 / 7.75 of 6 to b
        ('"linear([1, 1, -1], [b*c, a, a])"', "lrp_gamma", "null_player", "on_null.min", 1 / 15),
        (TWO, "gradient_l1", "antisymmetry", "relative_gap.max", 2.0),
        (TWO, "gradient_l1", "scale", "relative_gap.max", 2.0),
        ('"a*b*c"', "cp_lrp", "symmetry", "relative_gap.max", 1.0),
        ('"a*(b*c)"', "attnlrp", "symmetry", "relative_gap.max", 0.5),
        ('"a*b*c"', "gradient_x_input", "completeness", "ratio.max", 3.0),
        ('"a*b"', "loo", "path_antisymmetry", "relative_gap.max", 1.0),
        (TWO, "random", "target_sensitivity", "same.mean", 1.0),
        ('"1 - relu(1 - a)"', "gradient_x_input", "sensitivity", "missed.max", 1.0),
        ('"1 - relu(1 - a)"', "integrated_gradients", "sensitivity", "missed.max", 0.0),
        ('"a*a - a"', "gradient_x_input", "{null_player: {by: removal}}", "null_features.max", 3.0),
    ],
)
def test_by_hand(write_spec: Write, values: str, method: str, axiom: str, name: str, expected: float) -> None:
    measured = value(run(write_spec, values, method, axiom), name)
    assert np.isclose(measured, expected)


def test_a_feature_that_one_percent_would_zero_is_missed(write_spec: Write, seed_fault: Callable[..., None]) -> None:
    """Sensitivity asks for something, however small: only a fault that takes all of it shows in `missed`."""
    values = '"a + b + c"'
    result = run(write_spec, values, "loo", "sensitivity")
    assert result.judgement.passed
    assert value(result, "relative_error.max") == 0
    seed_fault("loo")
    assert np.isclose(value(run(write_spec, values, "loo", "sensitivity"), "relative_error.max"), 0.01)
    seed_fault("loo", lambda scores: scores * (scores > 0))
    result = run(write_spec, values, "loo", "sensitivity")
    assert result.judgement.verdict == "violated"
    assert np.isclose(value(result, "missed.max"), 1 / 3)


def test_two_outputs_that_differ_by_one_percent_have_two_maps(
    write_spec: Write, seed_fault: Callable[..., None]
) -> None:
    values = '["a + b", "1.01*a + b"]'
    assert run(write_spec, values, "loo", "target_sensitivity").judgement.passed
    seed_fault("loo", lambda scores: scores.round(decimals=1))
    assert run(write_spec, values, "loo", "target_sensitivity").judgement.verdict == "violated"


@pytest.mark.parametrize(
    ("values", "axiom", "error", "message"),
    [
        ('"a*b*c"', "null_player", NotDefined, "no null player"),
        ('"a + 2*b + 3*c"', "symmetry", NotDefined, "no symmetry to keep"),
        ('"a*b*c"', "linearity", InputError, "a weighted sum of 2 outputs"),
        ('"a*b*c"', "target_sensitivity", InputError, "at least two outputs"),
        ('["a*b", "b*a"]', "target_sensitivity", NotDefined, "may be the same"),
    ],
)
def test_where_an_axiom_says_nothing_it_says_so(
    write_spec: Write, values: str, axiom: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(write_spec, values, "loo", axiom)


def test_the_axioms_of_a_function_are_defined_for_texts(write_spec: Write) -> None:
    """Padding is a null player, and a linear layer may follow the logits of any model."""
    text = """claim: c
subject:
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 3, length: 4}}
run: {dtype: float64}
methods: [attnlrp, loo, gradient_x_input]
checks:
  - {axiom: null_player}
  - {axiom: linearity}
  - {axiom: antisymmetry}
  - {axiom: scale}
  - {axiom: target_sensitivity}
"""
    runner = Runner()
    for check in expand_file(write_spec(text)).checks:
        assert runner.run(check).judgement.passed, check.id
