"""The scorecard that ends a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from axioms.record import ClaimRecord
from axioms.report.scorecard import counts, ours_text, scorecard_lines, shortened
from axioms.run.claims import claim_id, scorecard_row
from axioms.spec import expand_file

ROOT = Path(__file__).parents[2]

ROW = {
    "paper": "you2025",
    "key": "C5",
    "claim": "CP-LRP is closer to LOO than AttnLRP (SST)",
    "place": "Tab. 2",
    "order": 4,
    "printed": [],
    "printed_text": "0.52 against 0.22",
}
NUMBER = {
    "value": 0.003,
    "n": 64,
    "interval": (-0.05, 0.06),
    "check": "a",
    "about": "cp_lrp over attnlrp",
    "metric": "loo_correlation.pearson.mean",
    "unit": "r",
    "is_difference": True,
}


def claim(**changes: Any) -> ClaimRecord:
    fields = {
        "id": "specs/a.yaml::claim",
        "spec": "specs/a.yaml",
        "subject": "MiniLM",
        "claim": "Skipping the softmax brings LRP closer to leave-one-out.",
        "row": ROW,
        "status": "open",
        "verdict": "not_shown",
        "decided_by": ["a"],
        "numbers": [NUMBER],
    }
    return ClaimRecord.model_validate({**fields, **changes})


def test_a_row_says_claim_subject_verdict_ours_and_the_papers() -> None:
    absent = claim(subject="BERT-base", verdict="not_run", numbers=[], missing="--axioms-tier paper")
    title, first, last = scorecard_lines([absent, claim()])
    assert title.startswith("You et al. 2025: When LRP Diverges")
    assert title.split()[-4:] == ["subject", "verdict", "ours", "paper"]
    for text in ("CP-LRP is closer", "MiniLM", "not shown", "r +0.003 [-0.050, 0.060] n=64", "0.52 against 0.22"):
        assert text in first
    assert last == "  not run (--axioms-tier paper): others on BERT-base"


def test_a_claim_on_two_subjects_is_printed_once() -> None:
    _, first, second = scorecard_lines([claim(), claim(subject="MNIST", verdict="shown")])
    assert "CP-LRP is closer" in first
    assert "0.52 against" in first
    assert second.split()[:2] == ["MNIST", "shown"]
    assert "0.52 against" not in second


def test_what_was_run_on_no_subject_is_named_in_one_line() -> None:
    tiers = [claim(subject=name, verdict="not_run", missing=f"--axioms-tier {name}") for name in ("full", "paper")]
    _, line = scorecard_lines(tiers)
    assert line == "  not run (--axioms-tier full, paper): CP-LRP is closer to LOO than AttnLRP (SST)"


def test_claims_of_no_paper_are_counted_and_the_specs_of_those_not_shown_named() -> None:
    verdicts = ("not_shown", "shown", "contradicted")
    (line,) = scorecard_lines([claim(row=None, verdict=verdict) for verdict in verdicts])
    assert line == "Claims: 1 shown, 1 contradicted, 1 not shown; contradicted: a; not shown: a"
    assert counts([claim(verdict="not_run")]) == "1 not run"


def test_the_default_run_ends_within_forty_lines() -> None:
    verdicts = json.loads((ROOT / "reports" / "baseline.json").read_text())["claims"]
    claims = []
    for file in sorted((ROOT / "specs").rglob("*.yaml")):
        if "paper:" not in file.read_text() or file.name.startswith("_"):  # bases are not run
            continue
        spec = file.relative_to(ROOT).as_posix()
        for stated in expand_file(file).claims:
            verdict = verdicts.get(claim_id(stated, spec), "not_run")
            missing = "--axioms-tier full" if verdict == "not_run" else ""
            row = scorecard_row(stated.stated.paper)
            claims.append(claim(spec=spec, subject=stated.subject, row=row, verdict=verdict, missing=missing))
    rows = [claim for claim in claims if claim.row is not None]
    assert len({claim.row.key for claim in rows if claim.row}) > 20
    assert len(scorecard_lines([*rows, claim(row=None)])) + len(["= axioms =", "report: ...", "= 9 passed ="]) <= 40


def test_numbers_and_texts() -> None:
    assert ours_text(claim().number) == "r +0.003 [-0.050, 0.060] n=64"
    assert ours_text(claim(numbers=[{**NUMBER, "value": [[1.0, 2.0]]}]).number) == "r (1.00, 2.00)"
    assert ours_text(claim(numbers=[{**NUMBER, "value": [0.25] * 9}]).number) == "r 0.25 each"
    assert ours_text(claim(numbers=[{**NUMBER, "value": [1, 2, 3, 4, 5]}]).number).endswith("4.00, ...)")
    assert ours_text(None) == ""
    assert shortened("one two three", 9) == "one ..."
