"""Something breaks in a check or in the report: it costs itself only, and is said."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

import axioms.report.scorecard as scorecard
import axioms.report.summary as summary
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


PARTS = {
    "every_table": write,
    "write_tables": write,
    "write_spec_tables": write,
    "write_paper_pages": write,
    "write_heatmaps": write,
    "draw_layers": write,
    "html_page": write,
    "summary_markdown": summary,
    "closing_lines": summary,
    "scorecard_lines": scorecard,
}


@pytest.mark.parametrize("part", [*PARTS, *write.FIGURES.values()])
def test_a_part_of_the_report_that_raises_costs_itself_only(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise ZeroDivisionError("in a part")

    if part in PARTS:
        monkeypatch.setattr(PARTS[part], part, fail)
    else:
        others = {draw: what for draw, what in write.FIGURES.items() if what != part}
        monkeypatch.setattr(write, "FIGURES", {**others, fail: part})
    result = folder.runpytest("specs", "-v")
    result.assert_outcomes(passed=1)
    assert result.ret == 1, "what is missing of a report could have told of something"
    said = "FAILED: * could not be made: ZeroDivisionError: in a part (*test_broken_parts.py, *"
    result.stdout.fnmatch_lines([said])
    assert result.stdout.str().count("could not be made") == 1
    latest = folder.path / "reports" / "latest"
    record = read_record(latest)
    assert [check.passed for check in record.checks] == [True]
    assert record.run.status == "passed", "the checks keep their verdicts"
    for file, made_by in (("summary.md", "summary_markdown"), ("index.html", "html_page")):
        assert (latest / file).exists() is (part != made_by)


def test_figures_of_an_earlier_run_that_cannot_be_removed_are_said(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = folder.path / "mine" / "figures" / "maps-old.svg"
    old.parent.mkdir(parents=True)
    old.touch()
    plain = Path.unlink

    def fail(self: Path, missing_ok: bool = False) -> None:
        if self.name == old.name:
            raise OSError(errno.EACCES, "Permission denied")
        plain(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", fail)
    result = folder.runpytest("specs", "--axioms-report", "mine")
    result.assert_outcomes(passed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED: the folder of figures could not be written: Permission denied."])
    assert (folder.path / "mine" / "index.html").exists()


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


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_read_only_folder_is_said_at_the_start(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As the system says it: permissions do not bind root, as whom tests may run."""
    plain = os.open

    def fail(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and Path(os.fsdecode(path)).is_relative_to(reports):
            raise OSError(code, os.strerror(code), path)
        return plain(path, flags, *args, **options)

    reports = folder.mkdir("reports")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        result = folder.runpytest("specs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "the report folder reports/runs/" in said
    assert f"cannot be written to: {os.strerror(code)}. Name another one: --axioms-report DIR." in said
    assert "INTERNALERROR" not in said
    assert "passed" not in said
    assert not list(reports.iterdir())


def test_a_full_disk_leaves_the_results_of_an_earlier_run(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that is named, which the next run writes over."""
    run = ("specs", "--axioms-report", "reports/mine")
    folder.runpytest(*run).assert_outcomes(passed=1)
    results = folder.path / "reports" / "mine" / "results.json"
    before = results.read_bytes()
    plain = Path.write_text

    def fail(self: Path, text: str, *args: Any, **options: Any) -> int:
        if "reports" in self.parts:
            plain(self, text[: len(text) // 2], *args, **options)
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(self, text, *args, **options)

    monkeypatch.setattr(Path, "write_text", fail)
    result = folder.runpytest(*run)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAILED: results.json could not be written: No space left on device."])
    assert results.read_bytes() == before
    assert not list(results.parent.glob(".*.partial"))


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
