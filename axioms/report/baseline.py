"""Numbers of a saved run, for comparison: baseline.json holds nothing but them, results.json much more.

    {"schema_version": 1, "environment": {...}, "checks": {"specs/a.yaml::axiom[method]": {"metric": 0.5, ...}, ...}}

One line for each metric, sorted, and rounded to a hundredth of what it may move by, so that git shows what changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axioms.core.errors import InputError, display_path

BASELINE_VERSION = 1
DEFAULT_FILE = "reports/baseline.json"
Value = float | list[Any] | None
"""A number or a list of them; None where it was not finite."""
Allowed = tuple[float, float]
"""`abs` and `rel` of a tolerance."""
FALLBACK: Allowed = (1e-7, 1e-6)
"""Float64's, for two baselines: neither says what its metrics may move by."""


@dataclass(frozen=True)
class Saved:
    """The metrics of a run by check and name, and what they were computed with."""

    checks: Mapping[str, Mapping[str, Value]]
    versions: Mapping[str, str | None]
    tolerances: Mapping[tuple[str, str], Allowed | None] = field(default_factory=dict)
    """By check and metric, None where a metric may be anything; empty for a baseline, which has none of its own."""
    absent: frozenset[str] = frozenset()
    """Checks that exist and were not run: skipped or deselected. Empty for a baseline."""
    failed: frozenset[str] = frozenset()

    @property
    def specs(self) -> set[str]:
        """The spec files of which something was run."""
        return {spec_of(check) for check in (*self.checks, *self.absent)}


def spec_of(check: str) -> str:
    """The file in a check's id."""
    return check.partition("::")[0]


def saved_of(document: Mapping[str, Any]) -> Saved:
    """What results.json says, for comparison."""
    records = document["checks"]
    metrics = {(record["id"], name): each for record in records for name, each in record["metrics"].items()}
    return Saved(
        {record["id"]: {name: each["value"] for name, each in record["metrics"].items()} for record in records},
        versions_of(document["environment"]),
        {place: _allowed(each["tolerance"]) for place, each in metrics.items() if "tolerance" in each},
        frozenset([*(each["id"] for each in document["skipped"]), *document.get("not_run", ())]),
        frozenset(record["id"] for record in records if not record["passed"]),
    )


def versions_of(environment: Mapping[str, Any]) -> dict[str, str | None]:
    """Python's and the packages' versions, by name."""
    return {"python": environment["python"], **environment["packages"]}


def read_saved(path: Path) -> Saved:
    """A run's folder, its results.json, or a baseline.json; anything else is an `InputError`."""
    file = path / "results.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{display_path(file)} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{display_path(file)} is not JSON; give a run's folder or a baseline.json.") from None
    try:
        if document["schema_version"] != BASELINE_VERSION:
            raise InputError(
                f"{display_path(file)} is of version {document['schema_version']}, not {BASELINE_VERSION}."
            )
        if isinstance(document["checks"], list):
            return saved_of(document)
        return Saved({check: dict(each) for check, each in document["checks"].items()}, document["environment"])
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{display_path(file)} is neither a results.json nor a baseline.json.") from None


def updated(before: Saved | None, run: Saved, which: str, gone: Iterable[str] = ()) -> Saved:
    """The baseline after a run: `all` it measured replaces what was there; `new` adds only what was not.

    Failed checks stay as they were, since nobody accepts their numbers. What was not run is kept, unless it is `gone`.
    """
    known = {} if before is None else dict(before.checks)
    fresh = {check: metrics for check, metrics in run.checks.items() if check not in run.failed}
    for check, metrics in fresh.items():
        judged = {
            name: rounded(value, tolerance)
            for name, value in metrics.items()
            if (tolerance := run.tolerances.get((check, name), FALLBACK)) is not None
        }
        known[check] = judged if which == "all" else {**judged, **known.get(check, {})}
    if which == "all":
        for check in gone:
            known.pop(check, None)
    versions = run.versions if before is None or which == "all" else before.versions
    return Saved(known, versions)


def baseline_text(saved: Saved) -> str:
    """baseline.json: sorted, a line for each metric."""
    versions = {name: version for name, version in saved.versions.items() if version is not None}
    lines = []
    for check in sorted(saved.checks):
        inner = [f"   {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(saved.checks[check].items())]
        body = "{\n" + ",\n".join(inner) + "\n  }" if inner else "{}"
        lines.append(f"  {json.dumps(check)}: {body}")
    head = f' "schema_version": {BASELINE_VERSION},\n "environment": {json.dumps(versions, sort_keys=True)},\n'
    return "{\n" + head + ' "checks": {\n' + ",\n".join(lines) + "\n }\n}\n"


def rounded(value: Value, tolerance: Allowed) -> Value:
    """To a hundredth of what it may move by; as it is where it may not move."""
    if isinstance(value, list):
        return [rounded(each, tolerance) for each in value]
    if value is None or not math.isfinite(value):
        return None
    step = max(tolerance[0], tolerance[1] * abs(value)) / 100
    if step == 0:
        return value
    return round(value, -math.floor(math.log10(step))) + 0.0


def _allowed(tolerance: Mapping[str, float] | None) -> Allowed | None:
    return None if tolerance is None else (float(tolerance["abs"]), float(tolerance["rel"]))
