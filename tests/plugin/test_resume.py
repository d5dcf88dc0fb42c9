"""A run that is killed half-way, and started again: what it had finished is not measured again."""

from __future__ import annotations

import json
import signal
from collections import Counter
from typing import Any

import pytest

METHODS = '''
import os, signal, time

import axioms


@axioms.method("counted")
def counted(model, inputs, target, *, name: str):
    """Slow, and writes down that it was run."""
    time.sleep(0.2)
    with open("calls.txt", "a") as file:
        file.write(name + "\\n")
    return 0 * inputs.features + 1


@axioms.method("deadly")
def deadly(model, inputs, target):
    """Kills the process, unless it may live."""
    if "LIVE" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return inputs.features
'''
SPEC = """claim: Nothing is claimed.
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [{counted: {as: one, name: one}}, {counted: {as: two, name: two}}, deadly, {counted: {as: last, name: last}}]
checks:
  - {axiom: conservation, record: [ratio.mean]}
"""
RUN = ("specs", "--axioms-import", "mymethods", "--axioms-reuse")


def results(pytester: pytest.Pytester) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((pytester.path / "reports" / "latest" / "results.json").read_text())
    return loaded


def calls(pytester: pytest.Pytester) -> Counter[str]:
    return Counter((pytester.path / "calls.txt").read_text().split())


@pytest.fixture
def killed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder in which a run was killed in its third check."""
    monkeypatch.delenv("AXIOMS_FRESH")
    monkeypatch.setenv("AXIOMS_CACHE", str(pytester.path / "cache"))
    pytester.makepyfile(mymethods=METHODS)
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(SPEC)
    assert pytester.runpytest_subprocess(*RUN).ret == -signal.SIGKILL
    monkeypatch.setenv("LIVE", "1")
    return pytester


def numbers(record: dict[str, Any]) -> dict[str, Any]:
    """A record without how long it took."""
    return {name: value for name, value in record.items() if name != "seconds"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_killed_run_goes_on_without_measuring_again(killed: pytest.Pytester, workers: tuple[str, ...]) -> None:
    left = results(killed)
    assert left["run"]["status"] == "running"
    assert left["checks"][0]["method"] == "one", "the report is written now and then, and so has at least the first"
    before = calls(killed)
    assert before == {"one": 1, "two": 1}
    killed.runpytest_subprocess(*RUN, *workers).assert_outcomes(passed=4)
    assert calls(killed) - before == {"last": 1}
    whole = results(killed)
    assert whole["run"]["status"] == "passed"
    assert [record["method"] for record in whole["checks"]] == ["one", "two", "deadly", "last"]
    assert [*map(numbers, whole["checks"])][: len(left["checks"])] == [*map(numbers, left["checks"])]


def test_changed_code_starts_anew(killed: pytest.Pytester) -> None:
    killed.makepyfile(mymethods=METHODS + "\nCHANGED = True\n")
    before = calls(killed)
    killed.runpytest_subprocess(*RUN).assert_outcomes(passed=4)
    assert set(calls(killed) - before) == {"one", "two", "last"}


def test_a_changed_bound_is_judged_anew_and_not_measured_again(killed: pytest.Pytester) -> None:
    text = SPEC.replace("record: [ratio.mean]", "expect: {ratio.mean: {le: -1}}")
    (killed.path / "specs" / "mine.yaml").write_text(text)
    before = calls(killed)
    result = killed.runpytest_subprocess(*RUN, "-k", "one or two")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["verdict   violated, ratio.mean is not <= -1"])
    assert calls(killed) == before
    result.stdout.fnmatch_lines(["2 of 2 measurements are an earlier run's*"])


def test_an_old_command_line_is_told_that_it_needs_no_option(killed: pytest.Pytester) -> None:
    before = calls(killed)
    result = killed.runpytest_subprocess(*RUN, "--axioms-resume")
    result.assert_outcomes(passed=4, warnings=1)
    result.stdout.fnmatch_lines(["*--axioms-resume is no longer needed and does nothing: *"])
    assert calls(killed) - before == {"last": 1}
