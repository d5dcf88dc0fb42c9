"""A result as a record: everything that a report shows is computed by the run and stated as a field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from axioms.core.registry import METHODS
from axioms.record import CheckRecord, RuleRecord
from axioms.run.cache import Cache
from axioms.run.records import method_records, record
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.verdict.measure import bootstrap_interval

Write = Callable[..., Path]
SUBJECT = """claim: c
subject:
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 4, length: 6}}
  remove: attention_mask
run: {dtype: float64}
"""


def run(file: Path) -> dict[str, tuple[Result, CheckRecord]]:
    runner = Runner()
    checks = expand_file(file).checks
    results = {f"{check.function}[{check.id}]": runner.run(check) for check in checks}
    return {name: (result, record(result, f"specs/mine.yaml::{name}")) for name, result in results.items()}


def test_what_a_table_shows_is_in_the_record_though_the_spec_does_not_ask_for_it(write_spec: Write) -> None:
    text = SUBJECT + "methods: [loo]\nchecks: [{axiom: perturbation, record: [delta.mean]}]\n"
    ((_, plain),) = run(write_spec(text)).values()
    ((result, check),) = run(write_spec(text + "table: {name: table-2, block: SST}\n")).values()
    assert plain.extra_metrics == {}
    assert list(check.metrics) == ["delta.mean"], "the gate compares what the spec asks for"
    assert list(check.extra_metrics) == ["lerf.mean", "morf.mean"]
    lerf = result.measurement.quantity("lerf.mean")
    assert check.extra_metrics["lerf.mean"].number == lerf.value
    assert check.extra_metrics["lerf.mean"].interval == lerf.interval
    assert (check.removal, check.about, check.part) == ("attention_mask", "method", "specs/mine.yaml")
    values = np.array(check.values["morf_curve"])
    np.testing.assert_allclose(check.curves["morf_curve"].mean, values.mean(axis=0))
    assert check.curves["morf_curve"].intervals is None, "no table shows them"


def test_a_sweep_has_the_interval_of_each_layer(write_spec: Write) -> None:
    text = SUBJECT + "methods: [attnlrp]\nsweep: {layers: [single]}\ntable: {name: table-a3, block: x}\n"
    ((_, check),) = run(write_spec(text + "checks: [{axiom: bypass_gain, record: [single]}]\n")).values()
    curve = check.curves["single"]
    columns = np.array(check.values["single"]).T
    assert curve.intervals == [bootstrap_interval(column, confidence=0.95, seed=0) for column in columns]
    assert "none.mean" in check.extra_metrics, "the method without a bypass"


def test_the_gap_of_a_rewrite_is_there_whatever_the_spec_expects(write_spec: Write) -> None:
    pair = "pair: {model: {tiny: {architecture: bert}}, rewrites: [permute_heads]}"
    text = SUBJECT.replace("model: {tiny: {architecture: bert}}", pair)
    text += "methods: [loo]\nchecks: [{axiom: implementation_invariance, expect: {pearson.mean: {ge: 0.9}}}]\n"
    (_, forward), (_, check) = run(write_spec(text)).values()
    assert list(check.metrics) == ["pearson.mean"]
    assert check.extra_metrics["relative_gap.max"].number == pytest.approx(0, abs=1e-9)
    assert (forward.about, forward.method, forward.quantity("gap.max") is not None) == ("pair", None, True)
    assert (check.subject, check.rewrite) == ("tiny", "permute_heads"), "the model that was rewritten, and by what"


def test_checks_of_several_subjects_are_told_apart(write_spec: Write) -> None:
    text = SUBJECT.replace("  model: {tiny: {architecture: bert}}\n", "")
    text += "subjects:\n  - {as: a, model: {tiny: {architecture: bert}}}\n"
    text += "  - {as: b, model: {tiny: {architecture: gpt2}}}\n"
    text += "methods: [loo]\nchecks: [{axiom: conservation, record: [ratio.mean]}]\n"
    checks = [check for _, check in run(write_spec(text)).values()]
    assert [(check.label, check.part) for check in checks] == [("a", "specs/mine.yaml, a"), ("b", "specs/mine.yaml, b")]


def test_the_rules_of_methods() -> None:
    methods = method_records(["attnlrp", "cp_lrp", "gradient", "loo", "an alias"])
    assert list(methods) == ["attnlrp", "cp_lrp", "gradient", "loo"]
    assert methods["loo"].rules is None
    assert methods["gradient"].rules == {}
    assert methods["cp_lrp"].rules is not None
    assert methods["cp_lrp"].rules["softmax"] == RuleRecord(name="stop", options={})
    assert set(method_records(METHODS)) == set(METHODS)


def test_how_it_was_computed_is_in_the_record_of_every_check_that_rests_on_it(
    write_spec: Write, tmp_path: Path
) -> None:
    """A state space model cannot reuse what removals share; also said where leave-one-out was computed before."""
    text = SUBJECT.replace("bert", "mamba") + "methods: [loo, gradient_x_input]\n"
    checks = "checks: [{axiom: conservation, record: [ratio.mean]}, {axiom: loo_correlation, record: [pearson.mean]}]"
    file = write_spec(f"{text}{checks}\n")
    names = [check.notes for _, check in run(file).values()]
    (sentence,) = names[0]
    assert "recurrent state" in sentence
    assert names == [[sentence], [], [sentence], [sentence]], "Gradient x Input needs leave-one-out to be compared"
    for _ in range(2):  # measured, and read from the disk
        results = [Runner(cache=Cache(tmp_path / "cache")).run(check) for check in expand_file(file).checks]
        assert [list(result.measurement.notes) for result in results] == names
        assert all("_notes" not in result.measurement.values for result in results)
