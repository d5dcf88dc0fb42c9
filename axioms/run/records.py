"""A result as plain values: what results.json holds for each check. Versioned, so that readers can rely on it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError, display_path
from axioms.core.lazy import np
from axioms.core.registry import AXIOMS
from axioms.spec.tolerance import tolerance_of
from axioms.verdict.judge import Finding
from axioms.verdict.measure import Quantity

if TYPE_CHECKING:
    from axioms.run.runner import Result
    from axioms.spec import Subject

SCHEMA_VERSION = 1


def record(result: Result, nodeid: str) -> dict[str, Any]:
    """One check as JSON values."""
    check, judgement, measurement = result.check, result.judgement, result.measurement
    violation = check.violation
    asked = [placed.metric for placed in (*check.expect, *(violation or ()))]
    names = list(dict.fromkeys([*asked, *check.record, *check.reported]))
    return {
        "id": nodeid,
        "spec": nodeid.partition("::")[0],
        "order": check.order,
        "line": check.place.line,
        "place": str(check.place),
        "claim": check.claim,
        "source": check.source,
        "note": check.note,
        "tier": check.tier,
        "subject": subject_name(check.subject),
        "axiom": check.function if check.comparison is None else check.comparison.axiom,
        "axiom_options": {} if check.axiom is None else dict(check.axiom.options),
        "method": None if check.method is None else check.method.label,
        "than": None if check.comparison is None else check.comparison.than.label,
        "options": {} if check.method is None else dict(check.method.options),
        "rewrite": check.rewrite,
        "because": check.because,
        "violation_claimed": violation is not None,
        "verdict": str(judgement.verdict),
        "passed": judgement.passed,
        "reason": judgement.reason,
        "bounds": [_bound(finding) for finding in judgement.findings],
        "metrics": {name: {**_quantity(measurement.quantity(name)), **_tolerance(result, name)} for name in names},
        "values": {
            name: plain(values)
            for name, values in measurement.values.items()
            if measurement.kinds[name] in ("per_example", "curve")
        },
        "paired": {name: _paired(result, name) for name in result.tests},
        "reported": dict(check.reported),
        "table": None if check.table is None else check.table.model_dump(),
        "worst": result.worst,
        "examples": list(result.examples),
        "accounts": dict(result.accounts),
        "run": result.run.model_dump(),
        "seconds": round(result.seconds, 3),
    }


def subject_name(subject: Subject) -> str:
    """The model's name, or both names of a pair; what a rewrite made is named by the rewrite."""
    pair = subject.pair
    if pair is not None:
        two = [each.name for each in (pair.left, pair.right, pair.model, pair.rewrite) if each is not None]
        return " / ".join(two)
    return "" if subject.model is None else subject.model.name


def _bound(finding: Finding) -> dict[str, Any]:
    return {
        "metric": finding.metric,
        "bound": str(finding.bound),
        "place": str(finding.stated.place),
        "verdict": str(finding.verdict),
        **_quantity(finding.quantity),
    }


def _tolerance(result: Result, name: str) -> dict[str, Any]:
    """How far it may move from a baseline; null where it may be anything."""
    check = result.check
    named = check.comparison.axiom if check.comparison is not None else check.function
    found = tolerance_of(check.tolerance, AXIOMS.get(named), check.id, name, result.run.dtype)
    return {"tolerance": None if found is None else found.model_dump()}


def _paired(result: Result, name: str) -> dict[str, Any]:
    test, difference = result.tests[name], _quantity(result.measurement.quantity(name))
    d_z = None if test.d_z is None else plain(test.d_z)
    return {
        "difference": difference["value"],
        "interval": difference["interval"],
        "n": difference["n"],
        "p": test.p,
        "p_holm": test.p_holm,
        "hypotheses": test.hypotheses,
        "d_z": d_z,
        "wins": test.wins,
    }


def _quantity(quantity: Quantity) -> dict[str, Any]:
    interval = None if quantity.interval is None else list(quantity.interval)
    return {"value": plain(quantity.value), "n": quantity.n, "interval": interval}


def plain(value: Any) -> Any:
    """Numbers and lists of them as JSON values; what is not finite, or masked, becomes null."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if value is not None and math.isfinite(value) else None


def read_results(run: Path) -> dict[str, Any]:
    """results.json of a folder, or the file itself."""
    file = run / "results.json" if run.is_dir() else run
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{display_path(file)} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{display_path(file)} is not JSON; give a run's folder or its results.json.") from None
    if not isinstance(document, dict) or document.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{display_path(file)} is not a results.json of version {SCHEMA_VERSION}.")
    return document
