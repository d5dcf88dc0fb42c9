"""The verdict of a claim: the same in the terminal, results.json, JUnit, summary.md and the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

METHODS = """
import axioms
from axioms import Metric


@axioms.axiom("score", metrics={"first": Metric("the first score")})
def score(side):
    return {"first": side.scores[:, 0]}


@axioms.method("mine")
def mine(model, inputs, target):
    return inputs.features


@axioms.method("zero")
def zero(model, inputs, target):
    return inputs.features * 0


@axioms.method("raises")
def raises(model, inputs, target):
    raise ValueError("not here")
"""
SPEC = """claim: Mine is above zero.
STATUS
paper: {you2025: C5}
decided_by: [mine over zero]
subject:
  model: {linear: {weight: [[3, -1]]}}
  data: {points: POINTS}
run: {dtype: float64}
methods: [mine, zero]
checks:
  - {axiom: score, record: [first.mean]}
compare:
  - {metric: score.first, better: mine, than: zero}
"""
STRADDLING = [-3, -2, -1, 0.5, 1, 2, 3, -0.5]
POSITIVE = [1, 2, 1.5, 1.25, 2.5, 1.75, 1.1, 2.2]


def write(pytester: pytest.Pytester, firsts: list[float], status: str = "open", text: str = SPEC) -> None:
    pytester.makepyfile(mymethods=METHODS)
    folder = pytester.path / "specs"
    folder.mkdir(exist_ok=True)
    points = [[first, 1.0] for first in firsts]
    spec = text.replace("POINTS", json.dumps(points)).replace("STATUS", f"status: {status}")
    (folder / "mine.yaml").write_text(spec)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("specs", "--axioms-import", "mymethods", "--junit-xml=junit.xml", *options)


def verdicts(pytester: pytest.Pytester) -> dict[str, Any]:
    """The verdict in each place but the terminal."""
    folder = pytester.path / "reports" / "latest"
    (claim,) = json.loads((folder / "results.json").read_text())["claims"]
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()
    properties = {entry.get("name"): entry.get("value") for entry in suite.iter("property")}
    return {
        "record": claim["verdict"].replace("_", " "),
        "suite": properties["specs/mine.yaml::claim"],
        "case": properties["claim: Mine is above zero."],
        "summary": (folder / "summary.md").read_text(),
    }


@pytest.mark.parametrize(
    ("firsts", "verdict"),
    [
        (STRADDLING, "not shown"),
        (POSITIVE, "shown"),
        ([-first for first in POSITIVE], "contradicted"),
        ([-first for first in STRADDLING], "not shown"),
    ],
)
def test_an_open_claim_passes_with_its_verdict_everywhere(
    pytester: pytest.Pytester, firsts: list[float], verdict: str
) -> None:
    write(pytester, firsts)
    result = run(pytester)
    result.assert_outcomes(passed=3)
    assert result.ret == 0
    result.stdout.re_match_lines([rf"  CP-LRP is closer .* linear +{verdict} +first [+-].*0.52 against 0.22"])
    places = verdicts(pytester)
    summary = places.pop("summary")
    assert set(places.values()) == {verdict}
    assert f"| Tab. 2: CP-LRP is closer to LOO than AttnLRP (SST) | linear | {verdict} | first " in summary


def test_an_asserted_claim_that_is_not_shown_fails(pytester: pytest.Pytester) -> None:
    write(pytester, STRADDLING, "asserted")
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.re_match_lines([r"  CP-LRP .* linear +not shown ", "FAILED.*compare", "report: "])
    assert verdicts(pytester)["record"] == "not shown"


def test_an_open_claim_whose_verdict_changes_fails_the_gate_and_is_named(pytester: pytest.Pytester) -> None:
    tolerant = SPEC + "tolerance: {score.*: {abs: 100}}\n"
    write(pytester, POSITIVE, text=tolerant)
    assert run(pytester, "--axioms-update-baseline=all").ret == 0
    saved = json.loads((pytester.path / "reports" / "baseline.json").read_text())
    assert saved["claims"] == {"specs/mine.yaml::claim": "shown"}
    gated = ("--axioms-baseline", "reports/baseline.json")
    assert run(pytester, *gated).ret == 0
    write(pytester, STRADDLING, text=tolerant)
    result = run(pytester, *gated)
    result.assert_outcomes(passed=3)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*a claim of specs/mine.yaml was shown and is not shown: Mine is above zero.",
            "claim *specs/mine.yaml::claim *Mine is above zero. *shown *not shown*",
        ]
    )
    partial = run(pytester, *gated, "-k", "score")
    assert partial.ret == 0, "a claim that is not run is not compared"
    partial.stdout.re_match_lines([r"  not run \(not selected in this run\): CP-LRP is closer"])


def test_what_is_missing_is_said(pytester: pytest.Pytester) -> None:
    write(pytester, POSITIVE, text=SPEC.replace("[mine, zero]", "[mine, raises]").replace("zero", "raises"))
    run(pytester).assert_outcomes(passed=1, failed=2)
    (claim,) = json.loads((pytester.path / "reports" / "latest" / "results.json").read_text())["claims"]
    assert (claim["verdict"], claim["numbers"]) == ("not_run", [])
    assert claim["missing"].startswith("compare[mine-over-raises]: method 'raises' raised ValueError: not here")


def test_a_violation_claim_that_holds_is_contradicted(pytester: pytest.Pytester) -> None:
    text = """claim: Mine does not keep to zero.
STATUS
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: POINTS}}
run: {dtype: float64}
methods: [mine]
checks:
  - {axiom: score, expect: {first.mean: {le: 0}}, violated_by: {mine: {}}}
"""
    write(pytester, POSITIVE, text=text)
    run(pytester).stdout.fnmatch_lines(["Claims: 1 shown"])
    write(pytester, [-first for first in POSITIVE], text=text)
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Claims: 1 contradicted; contradicted: *"])


def test_every_shipped_spec_says_what_decides_its_claim(root: Path) -> None:
    from axioms.spec import expand_file

    for file in sorted((root / "specs").rglob("[!_]*.yaml")):
        for claim in expand_file(file).claims:
            assert claim.checks, f"nothing decides: {file}: {claim.stated.claim}"
            if claim.number == 1:
                assert "decided_by" in claim.stated.model_fields_set, file
