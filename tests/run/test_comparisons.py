"""Comparisons from the spec to the verdict: options, correction, determinism, and what a failure says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from axioms.plugin.items import failure_text
from axioms.report.spec_tables import spec_markdown
from axioms.report.tables import comparisons
from axioms.run.records import record
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.verdict.statistics import cohen_d_z, holm, sign_flip_p

Write = Callable[..., Path]

SPEC = """claim: Some are closer to leave-one-out than others.
subject:
  model: {softmax-attention: {query: 1.0, key: 2.0, value: 3.0}}
  data:
    points:
      [[1, -1, 2], [0.5, 0.25, -1], [1, 2, 3], [2, 1, -3], [-1, 2, 0.5], [3, 1, 2], [0.25, 2, -2], [1, -2, 0.5]]
run: {dtype: float64}
methods: [loo, gradient_x_input, random]
checks:
  - {axiom: {perturbation: {step: 2}}, record: [delta.mean]}
compare:
  - {metric: loo_correlation.pearson, better: loo, than: random}
  - {metric: loo_correlation.pearson, better: random, than: gradient_x_input}
  - {metric: perturbation.delta, better: loo, than: random}
  - {metric: loo_correlation.pearson, better: loo, than: loo, by: {ge: 0}}
"""


def run(write_spec: Write, wanted: str = "", text: str = SPEC) -> dict[str, Result]:
    runner = Runner()
    checks = [check for check in expand_file(write_spec(text)).checks if check.comparison and wanted in check.id]
    return {check.id: runner.run(check) for check in checks}


def test_against_a_plain_computation(write_spec: Write) -> None:
    results = run(write_spec)
    tests = [next(iter(result.tests.values())) for result in results.values()]
    names = [result.check.expect[0].metric.removesuffix(".mean") for result in results.values()]
    values = [result.measurement.values[name] for result, name in zip(results.values(), names, strict=True)]
    p_values = [sign_flip_p(np.asarray(differences), seed=0) for differences in values]
    assert [test.p for test in tests] == p_values
    assert [test.p_holm for test in tests] == holm(p_values)
    assert [test.hypotheses for test in tests] == [4] * 4
    assert [test.d_z for test in tests] == [cohen_d_z(differences) for differences in values]


def test_the_correction_does_not_depend_on_what_is_run(write_spec: Write) -> None:
    everything = run(write_spec)
    alone = run(write_spec, "random-over-gradient")
    assert alone["random-over-gradient_x_input"].tests == everything["random-over-gradient_x_input"].tests


def test_the_options_are_those_of_the_checks(write_spec: Write) -> None:
    runner = Runner()
    checks = expand_file(write_spec(SPEC)).checks
    compared = next(check for check in checks if check.comparison and check.comparison.axiom == "perturbation")
    singles = {check.id: runner.run(check).measurement.values["delta"] for check in checks if check.axiom}
    np.testing.assert_array_equal(runner.run(compared).measurement.values["delta"], singles["loo"] - singles["random"])


def test_equal_methods_are_no_win(write_spec: Write) -> None:
    judgement = run(write_spec, "loo-over-loo")["loo-over-loo"].judgement
    assert (judgement.verdict, judgement.passed) == ("inconclusive", False)
    assert "contains 0" in judgement.reason


def test_a_correction_can_take_a_win_away(write_spec: Write) -> None:
    """Of 8 examples the smallest p is 2/256; of ten such comparisons Holm's is ten times that, above 0.05."""
    one = SPEC.partition("compare:")[0] + "compare:\n  - {metric: loo_correlation.pearson, better: loo, than: random}\n"
    assert run(write_spec, text=one)["loo-over-random"].judgement.passed
    line = "  - {metric: loo_correlation.pearson, better: loo, than: random}\n"
    ten = run(write_spec, text=one + 9 * line)["loo-over-random"]
    assert next(iter(ten.tests.values())).p_holm == pytest.approx(10 * 2 / 256)
    assert (ten.judgement.verdict, ten.judgement.passed) == ("inconclusive", False)
    assert "Holm's p" in ten.judgement.reason


def test_reports_and_failures_show_the_test(write_spec: Write) -> None:
    result = run(write_spec, "random-over")["random-over-gradient_x_input"]
    saved = record(result, "specs/mine.yaml::compare[random-over-gradient_x_input]")
    text = failure_text(saved, "pytest specs/mine.yaml")
    assert "expected  pearson.mean > 0" in text
    assert "paired    p = " in text
    assert "of 4, d_z = " in text
    paired = saved.paired["pearson.mean"]
    assert paired.difference == pytest.approx(np.mean(result.measurement.values["pearson"]))
    header, rows = comparisons([saved])
    assert header[2:7] == ["difference (interval)", "p", "Holm p", "d_z", "wins"]
    assert rows[0][:2] == ["random over gradient_x_input", "loo_correlation.pearson.mean"]
    assert "## Comparisons (Holm's correction over 4)" in spec_markdown([saved])
