"""Stability near an input and likeness of classes: by hand, and both ways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject:
  model: {{linear: {{weight: [[2, -1, 4], [2, -1, 4], [-2, 1, -4]]}}}}
  data: {{points: [[1, 1, 2], [2, 5, -1]]}}
  target: 0
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: {axiom}
    expect: {{{metric}: {{{bound}}}}}
"""


def run(write_spec: Write, method: str, axiom: str, metric: str, bound: str) -> Result:
    text = SPEC.format(method=method, axiom=axiom, metric=metric, bound=bound)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


@pytest.fixture
def jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient with one percent of its largest score more where the first feature is no whole number."""
    original = METHODS.get("gradient")

    def faulty(model: Any, inputs: Any, target: Any) -> Tensor:
        scores: Tensor = original.function(model, inputs, target).clone()
        is_near = (inputs.features[:, 0] % 1 != 0).to(scores)
        scores[:, 0] += 0.01 * is_near * scores.abs().amax(dim=1)
        return scores

    faulty.__module__ = original.function.__module__
    monkeypatch.setitem(METHODS._entries, "gradient", dataclasses.replace(original, function=faulty))


STABLE = [
    ("max_sensitivity", "relative.max"),
    ("max_sensitivity", "absolute.max"),
    ("local_lipschitz", "lipschitz.max"),
    ("relative_stability", "input.max"),
    ("relative_stability", "output.max"),
]


@pytest.mark.parametrize(("axiom", "metric"), STABLE)
def test_a_constant_map_is_stable(write_spec: Write, axiom: str, metric: str) -> None:
    assert run(write_spec, "gradient", axiom, metric, "le: 1e-9").judgement.passed


@pytest.mark.parametrize(("axiom", "metric"), STABLE)
@pytest.mark.usefixtures("jumps")
def test_a_jump_of_one_percent_is_caught(write_spec: Write, axiom: str, metric: str) -> None:
    assert run(write_spec, "gradient", axiom, metric, "le: 1e-9").judgement.verdict == "violated"


def test_the_relevance_of_a_sum_changes_by_its_weights(write_spec: Write) -> None:
    """R = (2 x1, -x2, 4 x3): between 1 and 4 times as fast as the input."""
    assert run(write_spec, "gradient_x_input", "local_lipschitz", "lipschitz.max", "between: [1, 4]").judgement.passed
    result = run(write_spec, "gradient_x_input", "max_sensitivity", "absolute.max", "gt: 0")
    assert 0 < float(str(result.measurement.quantity("absolute.max").value)) < 0.02 * (4 + 1 + 16) ** 0.5


def test_random_logit_by_hand(write_spec: Write) -> None:
    """Of three outputs f, f and -f the maps are the same or opposite, with whatever is drawn."""
    for metric in ("cosine", "spearman"):
        result = run(write_spec, "gradient_x_input", "random_logit", f"{metric}.max", "le: 1.000001")
        values = result.measurement.values[metric]
        assert all(abs(abs(value) - 1) < 1e-12 for value in values)


@pytest.mark.parametrize(
    ("axiom", "metric"),
    [("{max_sensitivity: {radius: 0.0}}", "relative.max"), ("{local_lipschitz: {samples: 0}}", "lipschitz.max")],
)
def test_a_neighbourhood_has_a_size(write_spec: Write, axiom: str, metric: str) -> None:
    with pytest.raises(InputError, match="radius above 0"):
        run(write_spec, "gradient", axiom, metric, "le: 1")
