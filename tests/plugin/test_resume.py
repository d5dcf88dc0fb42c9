"""A run that is killed half-way, and continued."""

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
    time.sleep(1.0)
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
RUN = ("specs", "--axioms-import", "mymethods")


def results(pytester: pytest.Pytester) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((pytester.path / "reports" / "latest" / "results.json").read_text())
    return loaded


def calls(pytester: pytest.Pytester) -> Counter[str]:
    return Counter((pytester.path / "calls.txt").read_text().split())


@pytest.fixture
def killed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder in which a run was killed in its third check."""
    pytester.makepyfile(mymethods=METHODS)
    pytester.mkdir("specs").joinpath("mine.yaml").write_text(SPEC)
    assert pytester.runpytest_subprocess(*RUN).ret == -signal.SIGKILL
    monkeypatch.setenv("LIVE", "1")
    return pytester


def test_a_killed_run_is_continued_without_computing_again(killed: pytest.Pytester) -> None:
    left = results(killed)
    assert left["run"]["status"] == "running"
    assert [record["method"] for record in left["checks"]] == ["one", "two"], "what was finished is there"
    before = calls(killed)
    result = killed.runpytest_subprocess(*RUN, "--axioms-resume")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["resumed: 2 of the 2 checks that had passed were taken over"])
    assert set(before) == {"one", "two"}
    assert set(calls(killed) - before) == {"last"}
    whole = results(killed)
    assert whole["run"]["status"] == "passed"
    assert [record["method"] for record in whole["checks"]] == ["one", "two", "deadly", "last"]
    assert whole["checks"][:2] == left["checks"], "their records are as they were"


def test_changed_code_starts_anew_and_says_so(killed: pytest.Pytester) -> None:
    killed.makepyfile(mymethods=METHODS + "\nCHANGED = True\n")
    before = calls(killed)
    result = killed.runpytest_subprocess(*RUN, "--axioms-resume", "-n", "2")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["resumed: 0 of the 2 checks that had passed were taken over; the code*changed since"])
    assert set(calls(killed) - before) == {"one", "two", "last"}


def test_a_changed_spec_is_run_again_and_failures_are_told_again(killed: pytest.Pytester) -> None:
    text = SPEC.replace("record: [ratio.mean]", "expect: {ratio.mean: {le: -1}}").replace("as: two", "as: three")
    (killed.path / "specs" / "mine.yaml").write_text(text)
    for _ in range(2):
        result = killed.runpytest_subprocess(*RUN, "--axioms-resume", "-k", "one or three")
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(["verdict   violated, ratio.mean is not <= -1"])
    assert len(results(killed)["checks"]) == 2, "what no longer exists is no longer there"


def test_there_is_nothing_to_resume(pytester: pytest.Pytester, good_spec: str) -> None:
    pytester.mkdir("specs").joinpath("sum.yaml").write_text(good_spec.replace("loo, ", ""))
    result = pytester.runpytest("specs", "--axioms-resume")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["nothing to resume: there was no results.json of an earlier run"])
    again = pytester.runpytest("specs", "--axioms-resume", "--junitxml=out.xml")
    again.stdout.fnmatch_lines(["resumed: 1 of the 1 checks that had passed were taken over"])
    assert '<property name="relative_error.max"' in (pytester.path / "out.xml").read_text()
