"""Records that tests make up, as results.json holds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axioms.record import CheckRecord, Environment, MethodRecord, RunInfo, RunRecord, SkippedCheck

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
