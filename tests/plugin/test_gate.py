"""The baseline gate of a pytest session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SPEC = """claim: Nothing is claimed.
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: [[1, 1], [2, WHERE]]}
run: {dtype: float64}
methods: [METHODS]
checks:
  - axiom: conservation
    record: [ratio.mean, relative_error.max]
"""
BASELINE = "reports/baseline.json"
GATED = ("specs", "--axioms-baseline", BASELINE)


def write(pytester: pytest.Pytester, *, where: float = 5, methods: str = "gradient, attnlrp", more: str = "") -> None:
    folder = pytester.path / "specs"
    folder.mkdir(exist_ok=True)
    text = SPEC.replace("WHERE", str(where)).replace("METHODS", methods) + more
    (folder / "mine.yaml").write_text(text)


def baseline(pytester: pytest.Pytester) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((pytester.path / BASELINE).read_text())
    return loaded


@pytest.fixture
def accepted(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a spec and the baseline of its first run."""
    write(pytester)
    result = pytester.runpytest("specs", "--axioms-update-baseline=new")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["updated (new): reports/baseline.json"])
    return pytester


def test_the_same_passes_and_a_drift_fails_although_every_check_passes(accepted: pytest.Pytester) -> None:
    same = accepted.runpytest(*GATED)
    assert same.ret == 0
    same.stdout.fnmatch_lines(["reports/baseline.json: 4 metrics compared: none drifted."])
    write(accepted, where=4)
    result = accepted.runpytest(*GATED)
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "reports/baseline.json: 4 metrics compared: 2 drifted.",
            "*check *metric *before *after *allowed",
            "drift*specs/mine.yaml::conservation[[]gradient[]]*ratio.mean*1.5*1*+-1.5e-06",
            "If this is meant, accept it: --axioms-update-baseline=all, and commit the file.",
        ]
    )
    report = accepted.path / "reports" / "latest"
    assert json.loads((report / "results.json").read_text())["run"]["status"] == "failed"
    assert (
        "| drift | specs/mine.yaml::conservation[gradient] | ratio.mean | 1.5 | 1 |"
        in (report / "summary.md").read_text()
    )


def test_it_works_under_xdist(accepted: pytest.Pytester) -> None:
    write(accepted, where=4)
    result = accepted.runpytest_subprocess(*GATED, "-n", "2")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["drift*conservation[[]gradient[]]*ratio.mean*"])


def test_accepting_a_drift(accepted: pytest.Pytester) -> None:
    write(accepted, where=4)
    new = accepted.runpytest(*GATED, "--axioms-update-baseline=new")
    assert new.ret == 1, "`new` accepts no change of what is there"
    everything = accepted.runpytest(*GATED, "--axioms-update-baseline=all")
    assert everything.ret == 0
    everything.stdout.fnmatch_lines(["*2 drifted.", "drift*", "updated (all): reports/baseline.json"])
    assert accepted.runpytest(*GATED).ret == 0


def test_a_tolerance_of_the_spec(accepted: pytest.Pytester) -> None:
    write(accepted, where=4, more="tolerance: {conservation.ratio: {rel: 0.5}, '*': {abs: 9.0}}\n")
    assert accepted.runpytest(*GATED).ret == 0
    write(accepted, where=4, more="tolerance: {conservation.ratio: {rel: 0.1}, '*': {abs: 9.0}}\n")
    result = accepted.runpytest(*GATED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 drifted.", "drift*ratio.mean*+-0.15"])


def test_new_checks_are_listed_and_gone_ones_fail(accepted: pytest.Pytester) -> None:
    write(accepted, methods="gradient, cp_lrp")
    result = accepted.runpytest(*GATED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 metrics compared: 1 gone, 1 new.", "gone*[[]attnlrp[]]*", "new *specs/mine.yaml*"])
    write(accepted, methods="gradient, attnlrp, cp_lrp")
    more = accepted.runpytest(*GATED)
    assert more.ret == 0
    more.stdout.fnmatch_lines(["New checks are not gated yet: --axioms-update-baseline=new adds them."])
    accepted.runpytest(*GATED, "--axioms-update-baseline=new")
    assert len(baseline(accepted)["checks"]) == 3
    write(accepted, methods="gradient")
    assert accepted.runpytest(*GATED, "--axioms-update-baseline=all").ret == 0
    assert list(baseline(accepted)["checks"]) == ["specs/mine.yaml::conservation[gradient]"]


def test_a_spec_that_was_deleted_is_gone(accepted: pytest.Pytester) -> None:
    (accepted.path / "specs" / "mine.yaml").rename(accepted.path / "specs" / "yours.yaml")
    result = accepted.runpytest(*GATED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*0 metrics compared: 2 gone, 2 new."])


@pytest.mark.parametrize(
    "arguments",
    [["-k", "attnlrp"], ["--axioms-methods", "attn*"], ["--deselect", "specs/mine.yaml::conservation[gradient]"]],
)
def test_what_is_deselected_is_not_gone(accepted: pytest.Pytester, arguments: list[str]) -> None:
    result = accepted.runpytest(*GATED, *arguments)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*2 metrics compared: none drifted.", "*1 checks of the first were not run*"])


def test_what_lies_above_the_tier_is_neither_gone_nor_forgotten(accepted: pytest.Pytester, good_spec: str) -> None:
    (accepted.path / "specs" / "sum.yaml").write_text(good_spec.replace("loo, ", ""))
    write(accepted, more="tier: paper\n")
    result = accepted.runpytest(*GATED, "--axioms-update-baseline=all")
    result.assert_outcomes(passed=1, deselected=2)
    assert result.ret == 0
    assert len(baseline(accepted)["checks"]) == 3


def test_numbers_of_failed_checks_are_not_accepted(accepted: pytest.Pytester) -> None:
    before = baseline(accepted)["checks"]
    write(accepted, where=4, more="    expect: {ratio.mean: {ge: 1.2}}\n    methods: [gradient]\n")
    result = accepted.runpytest(*GATED, "--axioms-update-baseline=all")
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 checks failed, and their numbers were left as they were."])
    name = "specs/mine.yaml::conservation[gradient]"
    assert baseline(accepted)["checks"][name] == before[name]


def test_a_baseline_that_cannot_be_read_is_a_usage_error(pytester: pytest.Pytester) -> None:
    write(pytester)
    result = pytester.runpytest("specs", "--axioms-baseline", "none.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*--axioms-baseline: none.json cannot be read: No such file*update-baseline=new writes one."]
    )
    (pytester.path / "none.json").write_text("{")
    result = pytester.runpytest("specs", "--axioms-baseline", "none.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*none.json is not JSON*"])


def test_an_upgrade_is_named(accepted: pytest.Pytester) -> None:
    file: Path = accepted.path / BASELINE
    found = baseline(accepted)
    found["environment"]["torch"] = "1.0.0"
    file.write_text(json.dumps(found))
    result = accepted.runpytest(*GATED)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*versions differ: torch 1.0.0 -> *"])
