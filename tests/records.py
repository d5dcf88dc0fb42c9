"""Records that tests make up, as results.json holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axioms.record import (
    CheckRecord,
    ClaimRecord,
    Environment,
    ErrorCheck,
    MethodRecord,
    RunInfo,
    RunRecord,
    SkippedCheck,
)

TOLERANCE = {"abs": 1e-7, "rel": 1e-6}
SKIPPED = SkippedCheck(
    id="specs/b.yaml::x[y]", spec="specs/b.yaml", axiom="x", rewrite=None, reason="paper tier: --axioms-tier paper"
)


def make_check(**changed: Any) -> CheckRecord:
    """A check that holds, but for what is changed."""
    fields: dict[str, Any] = {
        "id": "specs/a.yaml::conservation[attnlrp]",
        "spec": "specs/a.yaml",
        "order": 0,
        "place": {"file": "specs/a.yaml", "line": 3},
        "claim": "A sum is a sum.",
        "source": "You et al. 2025",
        "note": None,
        "tier": "smoke",
        "subject": "linear",
        "about": "method",
        "axiom": "conservation",
        "axiom_options": {},
        "method": "attnlrp",
        "than": None,
        "options": {},
        "removal": None,
        "rewrite": None,
        "because": None,
        "violation_claimed": False,
        "verdict": "holds",
        "passed": True,
        "reason": "",
        "bounds": [],
        "metrics": {},
        "extra_metrics": {},
        "curves": {},
        "values": {},
        "paired": {},
        "reported": {},
        "table": None,
        "worst": "",
        "examples": [],
        "accounts": {},
        "run": {"dtype": "float64", "device": "cpu", "seed": 0, "batch_size": 64, "confidence": 0.95},
        "seconds": 0.1,
    }
    return CheckRecord.model_validate({**fields, **changed})


def make_error(**changed: Any) -> ErrorCheck:
    """A check that raised, but for what is changed."""
    fields: dict[str, Any] = {
        "id": "specs/a.yaml::conservation[raises]",
        "spec": "specs/a.yaml",
        "order": 1,
        "place": {"file": "specs/a.yaml", "line": 3},
        "claim": "A sum is a sum.",
        "tier": "smoke",
        "subject": "linear",
        "axiom": "conservation",
        "method": "raises",
        "than": None,
        "rewrite": None,
        "error": "ValueError: no such layer",
        "where": "mine.py:7",
    }
    return ErrorCheck.model_validate({**fields, **changed})


def make_claim(key: str | None = "C1", **changed: Any) -> ClaimRecord:
    """A claim that is shown, of a paper's scorecard unless its key is None, but for what is changed."""
    row: dict[str, Any] = {
        "paper": "you2025",
        "key": key,
        "claim": "CP-LRP is closer to LOO",
        "place": "Table 2",
        "printed": [],
        "printed_text": "0.52 against 0.22",
    }
    number: dict[str, Any] = {"check": "specs/a.yaml::loo_correlation[cp_lrp-attnlrp]", "about": "cp_lrp over attnlrp"}
    number |= {"metric": "loo_correlation.pearson.mean", "unit": "r", **quantity(0.003, [-0.05, 0.06], 64)}
    fields: dict[str, Any] = {
        "id": "specs/a.yaml",
        "spec": "specs/a.yaml",
        "subject": "MiniLM",
        "claim": "A sum is a sum.",
        "row": None if key is None else {**row, "order": int(key[1:])},
        "status": "asserted",
        "verdict": "shown",
        "decided_by": [],
        "numbers": [{**number, "is_difference": True}],
    }
    return ClaimRecord.model_validate({**fields, **changed})


def quantity(value: Any, interval: Any = None, n: int = 5) -> dict[str, Any]:
    """One number, or a list of them."""
    return {"value": value, "n": n, "interval": interval}


def changed(check: CheckRecord, **changes: Any) -> CheckRecord:
    """The same check with other values in some fields."""
    return CheckRecord.model_validate({**check.model_dump(), **changes})


def make_run(*checks: CheckRecord, status: Any = "passed", **changes: Any) -> RunRecord:
    """A run of these checks."""
    run = RunRecord(
        run=RunInfo(
            status=status,
            started="2026-01-01T12:00:00+00:00",
            seconds=1.5,
            command="pytest specs/",
            git_commit=None,
        ),
        environment=Environment(python="3.11", platform="here", packages={"torch": "2", "none": None}),
        methods={},
        skipped=[SKIPPED],
        not_run=[],
        baseline=None,
        checks=list(checks),
    )
    return run.model_copy(update=changes)


def save_run(run: RunRecord, folder: Path) -> Path:
    """Write a results.json; the file."""
    file = folder / "results.json"
    file.write_text(run.model_dump_json())
    return file


def plain_method(passes: float | None = 1.0) -> MethodRecord:
    """A method that is not made of rules."""
    return MethodRecord(passes=passes, rules=None)
