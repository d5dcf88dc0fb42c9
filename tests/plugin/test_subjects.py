"""Checks of several subjects in one spec behave as pytest users expect of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

MATRIX = """claim: A sum is a sum.
subject: {data: {points: [[1, 1], [2, 5]]}}
subjects:
  - {as: plain, model: {linear: {weight: [[3, -1]]}}}
  - {as: plainer, model: {linear: {weight: [[3, 1]]}}}
  - {as: biased, model: {linear: {weight: [[3, 1]], bias: [1]}}}
  - {as: later, tier: full, model: {linear: {weight: [[3, 2]]}}}
run: {dtype: float64}
methods: [loo, attnlrp]
checks:
  - {axiom: conservation, expect: {ratio.max: {le: 1}}}
"""


@pytest.fixture(autouse=True)
def spec(pytester: pytest.Pytester) -> Path:
    file = pytester.mkdir("specs") / "matrix.yaml"
    file.write_text(MATRIX.replace("{ratio.max: {le: 1}}", "{relative_error.max: {le: 1e-9}}"))
    return file


def test_ids_name_the_subject_first(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--collect-only", "-q", "--axioms-tier", "full")
    assert [line for line in result.outlines if "::" in line] == [
        f"specs/matrix.yaml::conservation[{subject}-{method}]"
        for subject in ("plain", "plainer", "biased", "later")
        for method in ("loo", "attnlrp")
    ]


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["specs", "-k", "[plain-"], 2),
        (["specs", "-k", "plain and loo"], 2),
        (["specs/matrix.yaml::conservation[plainer-attnlrp]"], 1),
        (["specs", "-k", "plain", "--axioms-methods", "attn*"], 2),
    ],
)
def test_selection(pytester: pytest.Pytester, arguments: list[str], passed: int) -> None:
    pytester.runpytest(*arguments).assert_outcomes(passed=passed)


def test_the_last_failed_run_again_and_a_tier_may_be_of_one_subject(pytester: pytest.Pytester) -> None:
    pytester.runpytest("specs").assert_outcomes(passed=4, failed=2, deselected=2)
    again = pytester.runpytest("specs", "--lf", "--axioms-tier", "full")
    again.assert_outcomes(failed=2)
    again.stdout.fnmatch_lines(["*FAILED specs/matrix.yaml::conservation?biased-*"])
