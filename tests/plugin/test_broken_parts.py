"""Something breaks in a check or in the report: it costs itself only, and is said."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

import axioms.report.write as write
from axioms.core.registry import AXIOMS, METHODS, RULES, SUBJECTS
from axioms.record import read_record
from axioms.report.baseline import read_saved, saved_of
from axioms.report.drift import difference

MINE = """
import axioms, math, torch

@axioms.subject("broken")
def broken(*, where: str):
    from axioms.subjects.load import load_model
    from pathlib import Path
    module = load_model("tiny", {"architecture": "bert"}, Path("specs/x.yaml")).module
    with torch.no_grad():
        module.classifier.weight[0, 0] = {"nan": math.nan, "inf": math.inf, "large": 60000.0}[where]
    return module

@axioms.rule("zero_over_zero", on="linear")
def zero_over_zero(operation):
    value = operation.forward()
    return value.detach() + (value - value.detach()) * (0 * value.detach() / (0 * value.detach()))

@axioms.axiom("raising", metrics={"zero": axioms.Metric("nothing")})
def raising(side):
    raise ZeroDivisionError("of mine")

axioms.composite_method("unmade", lambda *, layer: 1 / 0)
"""
SPEC = """claim: c
subject: {model: {broken: {where: WHERE}}, data: {random-tokens: {n: 2, length: 4}}}
run: {dtype: DTYPE}
methods: [attnlrp, loo, {lrp: {as: mine, rules: [{on: linear, rule: zero_over_zero}]}}]
checks:
  - {axiom: conservation, record: [ratio.mean, relative_error.max]}
  - {axiom: ledger, methods: [attnlrp], record: [unexplained.max]}
  - {axiom: raising, record: [zero.max], methods: [loo]}
"""
GOOD = """claim: Nothing is claimed.
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [gradient]
checks: [{axiom: conservation, record: [ratio.mean]}]
"""
NAMES = ("NaN", "Infinity", "-Infinity")


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (METHODS, AXIOMS, SUBJECTS, RULES):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.mkdir("specs").joinpath("good.yaml").write_text(GOOD)
    return pytester


def strict(text: str) -> Any:
    """Read JSON as the standard has it: without NaN and infinities."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(("where", "dtype"), [("nan", "float64"), ("inf", "float64"), ("large", "float16")])
def test_numbers_that_are_none_cost_their_checks_only(folder: pytest.Pytester, where: str, dtype: str) -> None:
    folder.makepyfile(mine=MINE)
    (folder.path / "specs" / "broken.yaml").write_text(SPEC.replace("WHERE", where).replace("DTYPE", dtype))
    run = ("specs", "--axioms-import", "mine", "--axioms-update-baseline=all", "--junitxml", "junit.xml", "-v")
    result = folder.runpytest(*run)
    text = result.stdout.str()
    assert "INTERNALERROR" not in text
    assert result.ret == 1
    record = read_record(folder.path / "reports" / "latest")
    assert "specs/good.yaml::conservation[gradient]" in {check.id for check in record.checks}
    assert record.run.status == "failed"
    assert {"raising[loo]", "conservation[mine]"} <= {check.id.rpartition("::")[2] for check in record.errors}
    latest = folder.path / "reports" / "latest"
    strict((latest / "results.json").read_text())
    strict((folder.path / "reports" / "baseline.json").read_text())
    assert (latest / "index.html").exists()
    assert "ZeroDivisionError" in text
    saved = read_saved(folder.path / "reports" / "baseline.json")
    assert not difference(saved, saved_of(record), []).drifted


@pytest.mark.parametrize("part", ["draw_matrices", "write_spec_tables", "write_heatmaps", "every_table", "html_page"])
def test_a_part_of_the_report_that_raises_costs_itself_only(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ZeroDivisionError("in a part")

    if part == "draw_matrices":
        monkeypatch.setattr(write, "FIGURES", {fail: "the matrices of methods"})
    else:
        monkeypatch.setattr(write, part, fail)
    result = folder.runpytest("specs")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["FAILED: * could not be made: ZeroDivisionError: in a part (*test_broken_parts.py, *"])
    latest = folder.path / "reports" / "latest"
    assert read_record(latest).run.status == "passed"
    assert (latest / "summary.md").exists()
    assert (latest / "index.html").exists() is (part != "html_page")


def test_what_a_method_is_made_of_raises_in_its_own_check(folder: pytest.Pytester) -> None:
    folder.makepyfile(mine="import axioms\n" + MINE[MINE.index("axioms.composite_method") :])
    (folder.path / "specs" / "mine.yaml").write_text(GOOD.replace("[gradient]", "[loo, {unmade: {layer: 1}}]"))
    result = folder.runpytest("specs", "--axioms-import", "mine")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert result.ret in (1, 2)
    result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


@pytest.mark.parametrize("options", [(), ("--axioms-report", "mine/here")])
def test_a_folder_that_cannot_be_written_is_said_at_the_start(folder: pytest.Pytester, options: tuple[str]) -> None:
    (folder.path / ("mine" if options else "reports")).write_text("a file, where a folder is needed")
    result = folder.runpytest("specs", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "cannot be written to: Not a directory. Name another one: --axioms-report DIR." in said
    assert "INTERNALERROR" not in said
    assert "passed" not in said


def test_a_full_disk_ends_with_a_sentence(folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Path.write_text

    def fail(self: Path, *args: Any, **options: Any) -> int:
        if "reports" in self.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(self, *args, **options)

    monkeypatch.setattr(Path, "write_text", fail)
    result = folder.runpytest("specs")
    result.assert_outcomes(passed=1)
    assert result.ret == 1, "a run that leaves no record has not passed"
    result.stdout.fnmatch_lines(["FAILED: results.json could not be written: No space left on device."])
    assert "INTERNALERROR" not in result.stdout.str()
