"""Closed forms of the built subjects against brute force, and the axiom that compares with them, both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.subjects.models.known import known, shattered

ANYTHING = st.floats(-2, 2)
NOT_NEGATIVE = st.floats(0, 2)
POINTS: dict[str, st.SearchStrategy[list[float]]] = {
    **{name: st.lists(ANYTHING, min_size=1, max_size=6) for name in ("and", "or", "xor")},
    "conflict": st.lists(ANYTHING, min_size=2, max_size=6),
    "uncertainty": st.lists(ANYTHING, min_size=2, max_size=6),
    "duplicates": st.lists(NOT_NEGATIVE, min_size=1, max_size=6),
    "saturation": st.tuples(NOT_NEGATIVE, st.integers(1, 6)).map(lambda drawn: [drawn[0]] * drawn[1]),
    "shattered": st.lists(NOT_NEGATIVE, min_size=1, max_size=6),
}


def build(name: str) -> nn.Module:
    return shattered() if name == "shattered" else known(values=name)  # type: ignore[arg-type]


def brute_force(model: nn.Module, x: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leave-one-out, Shapley values over all orders, and interactions over all sets, from their definitions."""
    count, value = len(x), {}
    for size in range(count + 1):
        for present in combinations(range(count), size):
            point = torch.tensor([[x[i] if i in present else 0.0 for i in range(count)]], dtype=torch.float64)
            value[frozenset(present)] = float(model(point))
    everything = frozenset(range(count))
    loo = np.array([value[everything] - value[everything - {i}] for i in range(count)])
    shapley = np.zeros(count)
    for order in permutations(range(count)):
        for place, i in enumerate(order):
            before = frozenset(order[:place])
            shapley[i] += (value[before | {i}] - value[before]) / factorial(count)
    interactions = np.zeros((count, count))
    for i, j in permutations(range(count), 2):
        for s, together in value.items():
            if not {i, j} & s:
                weight = factorial(len(s)) * factorial(count - len(s) - 2) / factorial(count - 1)
                interactions[i, j] += weight * (value[s | {i, j}] - value[s | {i}] - value[s | {j}] + together)
    return loo, shapley, interactions


@pytest.mark.parametrize("name", POINTS)
def test_closed_forms_are_those_of_brute_force(name: str) -> None:
    model = build(name)

    @settings(max_examples=25)
    @given(x=POINTS[name])
    def check(x: list[float]) -> None:
        answers = model.answers(torch.tensor([x], dtype=torch.float64))  # type: ignore[operator]
        loo, shapley, interactions = brute_force(model, x)
        np.testing.assert_allclose(answers.loo[0], loo, atol=1e-9)
        np.testing.assert_allclose(answers.shapley[0], shapley, atol=1e-9)
        np.testing.assert_allclose(answers.interactions[0], interactions, atol=1e-9)

    check()


@pytest.mark.parametrize(("name", "x"), [("duplicates", [-1.0, 1.0]), ("saturation", [0.5, 1.0]), ("shattered", [9.0])])
def test_where_nothing_is_known_it_says_so(name: str, x: list[float]) -> None:
    with pytest.raises(InputError):
        build(name).answers(torch.tensor([x]))  # type: ignore[operator]


SPEC = """claim: c
subject: {{model: {model}, data: {{points: [[1, 1, 1]]}}}}
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: {axiom}}}]
"""


def run(write_spec: Callable[..., Path], model: str, method: str, axiom: str) -> Result:
    (check,) = expand_file(write_spec(SPEC.format(model=model, method=method, axiom=axiom))).checks
    return Runner().run(check)


@pytest.mark.parametrize("name", ["and", "or", "xor", "duplicates", "saturation", "conflict", "uncertainty"])
def test_loo_has_the_answers_of_loo_and_a_fault_has_not(
    write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    axiom = "{known_answer: {of: loo}}"
    assert run(write_spec, f"{{known: {name}}}", "loo", axiom).judgement.passed
    original = METHODS.get("loo")

    def off(model: Any, inputs: Any, target: Any) -> Any:
        scores = original.function(model, inputs, target)
        scores[:, 0] += 0.01 * scores.abs().amax(dim=1).clamp(min=1e-3)
        return scores

    monkeypatch.setitem(METHODS._entries, "loo", replace(original, function=off))
    assert run(write_spec, f"{{known: {name}}}", "loo", axiom).judgement.verdict == "violated"


def test_loo_gives_nobody_anything_for_duplicate_evidence(write_spec: Callable[..., Path]) -> None:
    result = run(write_spec, "{known: duplicates}", "loo", "known_answer")
    assert result.judgement.verdict == "violated"
    assert result.measurement.quantity("relative_gap.max").value == 1.0


def test_a_subject_without_answers(write_spec: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="built subjects"):
        run(write_spec, '{expression: "a*b*c"}', "loo", "known_answer")
