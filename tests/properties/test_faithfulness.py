"""Faithfulness beyond one removal: each metric by hand, both ways, and what must not move it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.model import packing, probe
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject:
  model: {model}
  data: {{points: {points}}}
  target: 0
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: {axiom}
    record: [{metric}]
    expect: {{{metric}: {{{bound}}}}}
"""
SUM = "{linear: {weight: [[3, -1, 2, 0.5], [1, 1, 1, 1]]}}"
POINTS = "[[1, 1, 2, 4], [2, 5, -1, 1]]"


def run(
    write_spec: Write, method: str, axiom: str, metric: str, bound: str = "ge: -1e9", model: str = SUM, at: str = POINTS
) -> Result:
    text = SPEC.format(model=model, points=at, method=method, axiom=axiom, metric=metric, bound=bound)
    text = text.replace(f"    record: [{metric}]\n", "")
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


def value(result: Result, name: str) -> float:
    number = result.measurement.quantity(name).value
    assert isinstance(number, float)
    return number


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Tensor], Tensor]], None]:
    """Make leave-one-out return other scores than it would, under the name `gradient`."""

    def seed(by: Callable[[Tensor], Tensor]) -> None:
        loo = METHODS.get("loo").function

        def changed(model: Any, inputs: Any, target: Any) -> Tensor:
            scores: Tensor = by(loo(model, inputs, target))
            return scores

        original = METHODS.get("gradient")
        changed.__module__ = original.function.__module__
        monkeypatch.setitem(METHODS._entries, "gradient", dataclasses.replace(original, function=changed))

    return seed


def off(scores: Tensor) -> Tensor:
    faulty = scores.clone()
    faulty[:, 0] += 0.01 * scores.abs().amax(dim=1)
    return faulty


@pytest.mark.parametrize(
    ("axiom", "metric", "bound"),
    [
        ("sensitivity_n", "relative_error.max", "le: 1e-9"),
        ("{sensitivity_n: {n: 1}}", "relative_error.max", "le: 1e-9"),
        ("sensitivity_n", "pearson.min", "ge: 0.999999999"),
        ("faithfulness_correlation", "pearson.min", "ge: 0.999999999"),
        ("infidelity", "infidelity.max", "le: 1e-9"),
        ("infidelity", "scaled.max", "le: 1e-9"),
    ],
)
def test_on_a_sum_leave_one_out_is_exact_and_a_fault_is_caught(
    write_spec: Write, change: Callable[..., None], axiom: str, metric: str, bound: str
) -> None:
    assert run(write_spec, "loo", axiom, metric, bound).judgement.passed
    change(off)
    assert run(write_spec, "gradient", axiom, metric, bound).judgement.verdict == "violated"


@pytest.mark.parametrize(
    ("axiom", "metric", "best"),
    [
        ("lds", "spearman.min", 1.0),
        ("loo_correlation", "spearman.min", 1.0),
        ("faithfulness_correlation", "spearman.min", 1.0),
        ("perturbation", "delta.mean", None),
        ("insertion_deletion", "deletion.mean", None),
        ("normalized_aopc", "normalized_aopc.min", 1.0),
        ("{comprehensiveness: {of: target}}", "comprehensiveness.mean", None),
        ("{sufficiency: {of: target}}", "sufficiency.mean", None),
        ("comprehensiveness", "comprehensiveness.mean", None),
        ("sufficiency", "sufficiency.mean", None),
    ],
)
def test_ranks_alone_count_and_a_swap_of_two_is_caught(
    write_spec: Write, change: Callable[..., None], axiom: str, metric: str, best: float | None
) -> None:
    """On (10, 10.1, ...) one percent of the largest score swaps the two largest."""
    model, at = "{linear: {weight: [[10, 10.05, 2, 0.5], [1, 1, 1, 1]]}}", "[[1, 1, 1, 1]]"
    exact = value(run(write_spec, "loo", axiom, metric, model=model, at=at), metric)
    assert best is None or exact == pytest.approx(best)
    if axiom == "lds":
        change(lambda scores: 3 * scores)  # a constant would count removed units
    else:
        change(lambda scores: 3 * scores + 7)
    assert value(run(write_spec, "gradient", axiom, metric, model=model, at=at), metric) == exact
    change(off)
    assert value(run(write_spec, "gradient", axiom, metric, model=model, at=at), metric) != exact


def test_noise_scores_chance(write_spec: Write) -> None:
    points = str(torch.randn(40, 8, generator=torch.Generator().manual_seed(0)).tolist())
    weight = str(torch.randn(1, 8, generator=torch.Generator().manual_seed(1)).tolist())
    model = f"{{linear: {{weight: {weight}}}}}"
    for axiom, metric, chance in [
        ("faithfulness_correlation", "pearson.mean", 0.0),
        ("sensitivity_n", "pearson.mean", 0.0),
        ("loo_correlation", "pearson.mean", 0.0),
        ("loo_correlation", "spearman.mean", 0.0),
        ("lds", "spearman.mean", 0.0),
        ("normalized_aopc", "normalized_aopc.mean", 0.5),
    ]:
        assert value(run(write_spec, "random", axiom, metric, model=model, at=points), metric) == pytest.approx(
            chance, abs=0.2
        ), axiom


def test_single_removals_do_not_see_redundancy_and_sets_do(write_spec: Write) -> None:
    """Of duplicate evidence leave-one-out says nothing, which is right for one removal and wrong for two."""
    model, at = "{known: duplicates}", "[[1, 1, 0, 0]]"
    one = value(
        run(write_spec, "loo", "{sensitivity_n: {n: 1}}", "relative_error.max", model=model, at=at),
        "relative_error.max",
    )
    two = value(run(write_spec, "loo", "sensitivity_n", "relative_error.max", model=model, at=at), "relative_error.max")
    assert (one, two) == (0.0, 1.0)


def test_comprehensiveness_and_sufficiency_by_hand(write_spec: Write) -> None:
    """f = 3 a - b + 2 c + d / 2 at (1, 1, 2, 4) with LOO (3, -1, 4, 2): the top half is c and a, the top one c."""
    for axiom, by_hand in (("comprehensiveness", (4 + 7) / 2), ("sufficiency", (8 - 4 + 8 - 7) / 2)):
        text = f"{{{axiom}: {{of: target, bins: [0.25, 0.5]}}}}"
        result = run(write_spec, "loo", text, f"{axiom}.mean", at="[[1, 1, 2, 4]]")
        assert value(result, f"{axiom}.mean") == pytest.approx(by_hand)


def test_the_bounds_of_aopc_are_those_of_all_orders(write_spec: Write) -> None:
    x = np.array([1.0, -2.0, 0.5])

    def f(point: np.ndarray) -> float:
        return float(np.tanh(point[0] * point[1]) + point[2])

    areas = []
    for order in permutations(range(3)):
        left, drops = x.copy(), []
        for feature in order:
            left[feature] = 0
            drops.append(f(x) - f(left))
        areas.append(np.mean(drops))
    model, at = '{expression: "tanh(a*b) + c"}', "[[1, -2, 0.5]]"
    result = run(write_spec, "loo", "normalized_aopc", "lowest.mean", model=model, at=at)
    assert value(result, "lowest.mean") == pytest.approx(min(areas))
    assert value(result, "highest.mean") == pytest.approx(max(areas))


def test_they_are_for_texts_too(write_spec: Write) -> None:
    text = """claim: c
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 3, length: 6}}}
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - {axiom: {sensitivity_n: {samples: 8}}, record: [pearson.mean]}
  - {axiom: {infidelity: {samples: 8}}, record: [relative.mean]}
  - {axiom: {lds: {samples: 8}}, record: [spearman.mean]}
  - {axiom: comprehensiveness, record: [comprehensiveness.mean]}
  - {axiom: sufficiency, record: [sufficiency.mean]}
"""
    runner = Runner()
    assert all(runner.run(check).judgement.passed for check in expand_file(write_spec(text)).checks)


def test_ranks_do_not_depend_on_how_many_removals_share_a_pass(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts of four tokens, so that sets are drawn twice: equal answers must tie, whatever rounding makes of them."""
    text = """claim: c
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 6, length: 4}}}
run: {dtype: float64}
methods: [loo, random]
checks: [{axiom: {lds: {samples: 32}}, record: [spearman.mean]}]
"""
    found = []
    for tokens, worthwhile in ((16, 1000), (2048, 1000), (2048, 0)):
        monkeypatch.setitem(probe.TOKENS, "cpu", tokens)
        monkeypatch.setattr(packing, "WORTHWHILE", worthwhile)
        runner = Runner()
        found.append([value(runner.run(check), "spearman.mean") for check in expand_file(write_spec(text)).checks])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("axiom", "metric", "message"),
    [
        ("{sensitivity_n: {n: 9}}", "pearson.mean", "do not fit"),
        ("{lds: {samples: 1}}", "spearman.mean", "at least 2 samples"),
        ("{faithfulness_correlation: {share: 0.0}}", "pearson.mean", "share above 0"),
        ("{comprehensiveness: {bins: []}}", "comprehensiveness.mean", "bins are shares"),
    ],
)
def test_wrong_options_are_a_sentence(write_spec: Write, axiom: str, metric: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(write_spec, "loo", axiom, metric)
