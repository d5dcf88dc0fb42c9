"""Numbers of a saved run, for comparison: baseline.json holds nothing but them, results.json much more.

    {"schema_version": 2, "environment": {...}, "claims": {"specs/a.yaml::claim": "shown", ...},
     "checks": {"specs/a.yaml::axiom[method]": {"metric": 0.5, ...}, ...}}

One line for each claim and metric, sorted, and rounded to a hundredth of what it may move by, so that git shows what
changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axioms.core.errors import InputError, display_path
from axioms.record import RESULTS, ClaimVerdict, Numbers, RunRecord
from axioms.record.run import parse_record, read_text

BASELINE_VERSION = 2
DEFAULT_FILE = "reports/baseline.json"
Allowed = tuple[float, float]
"""`abs` and `rel` of a tolerance."""
FALLBACK: Allowed = (1e-7, 1e-6)
"""Float64's, for two baselines: neither says what its metrics may move by."""


class BaselineFile(BaseModel):
    """The content of baseline.json."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    schema_version: Literal[1, 2]
    """In version 1 a number that is not finite was null; version 2 spells it. Comparing treats both alike."""
    environment: dict[str, str]
    claims: dict[str, ClaimVerdict] = Field({})
    checks: dict[str, dict[str, Numbers]]


@dataclass(frozen=True)
class Saved:
    """The metrics of a run by check and name, and what they were computed with."""

    checks: Mapping[str, Mapping[str, Numbers]]
    versions: Mapping[str, str | None]
    tolerances: Mapping[tuple[str, str], Allowed | None] = field(default_factory=dict)
    """By check and metric, None where a metric may be anything; empty for a baseline, which has none of its own."""
    absent: frozenset[str] = frozenset()
    """Checks that exist and were not run: skipped, deselected or in error. Empty for a baseline."""
    failed: frozenset[str] = frozenset()
    claims: Mapping[str, ClaimVerdict] = field(default_factory=dict)
    """By the claim's id; in a baseline those alone that were decided."""
    sentences: Mapping[str, str] = field(default_factory=dict)
    """What each claim says; empty for a baseline."""

    @property
    def specs(self) -> set[str]:
        """The spec files of which something was run."""
        return {spec_of(check) for check in (*self.checks, *self.absent)}


def spec_of(check: str) -> str:
    """Return the spec's file, which stands first in a check's id."""
    return check.partition("::")[0]


def saved_of(run: RunRecord) -> Saved:
    """Return the numbers of a run, for comparison."""
    tolerances = {
        (check.id, name): None if metric.tolerance is None else (metric.tolerance.abs, metric.tolerance.rel)
        for check in run.checks
        for name, metric in check.metrics.items()
    }
    return Saved(
        {check.id: {name: metric.value for name, metric in check.metrics.items()} for check in run.checks},
        run.environment.versions,
        tolerances,
        frozenset([*(check.id for check in (*run.skipped, *run.errors)), *run.not_run]),
        frozenset(check.id for check in run.failed),
        {claim.id: claim.verdict for claim in run.claims},
        {claim.id: claim.claim for claim in run.claims},
    )


def read_saved(path: Path) -> Saved:
    """Read a run's folder, its results.json, or a baseline.json; anything else is an `InputError`."""
    file = path / RESULTS if path.is_dir() else path
    text, name = read_text(file), display_path(file)
    try:
        content = BaselineFile.model_validate_json(text)
    except ValidationError:
        if '"run"' in text:
            return saved_of(parse_record(text, name))
        raise InputError(f"{name} {_problem(text)}") from None
    return Saved(content.checks, content.environment, claims=content.claims)


def _problem(text: str) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return "is not JSON; give a run's folder or a baseline.json."
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version is not None and version not in (1, BASELINE_VERSION):
        return f"is of version {version}, and this release reads up to {BASELINE_VERSION}."
    return f"is neither a {RESULTS} nor a baseline.json; give a run's folder or one of these files."


def updated(before: Saved | None, run: Saved, which: str, gone: Iterable[str] = ()) -> Saved:
    """Return the baseline after a run: `all` it measured replaces what was there; `new` adds only what was not.

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
    gone = list(gone)
    if which == "all":
        for check in gone:
            known.pop(check, None)
    versions = run.versions if before is None or which == "all" else before.versions
    return Saved(known, versions, claims=_updated_claims(before, run, which, gone))


def _updated_claims(before: Saved | None, run: Saved, which: str, gone: Iterable[str]) -> dict[str, ClaimVerdict]:
    """Return the verdicts after a run; a claim that was not run stays as it was, unless its spec has it no more."""
    known = {} if before is None else dict(before.claims)
    fresh = {name: verdict for name, verdict in run.claims.items() if verdict != "not_run"}
    if which == "new":
        return {**fresh, **known}
    changed = {*run.specs, *map(spec_of, gone)}
    still = {name: verdict for name, verdict in known.items() if name in run.claims or spec_of(name) not in changed}
    return {**still, **fresh}


def baseline_text(saved: Saved) -> str:
    """Return the content of baseline.json: sorted, a line for each metric."""
    versions = {name: version for name, version in saved.versions.items() if version is not None}
    lines = []
    for check in sorted(saved.checks):
        inner = [
            f"   {json.dumps(name)}: {json.dumps(_spelled(value))}"
            for name, value in sorted(saved.checks[check].items())
        ]
        body = "{\n" + ",\n".join(inner) + "\n  }" if inner else "{}"
        lines.append(f"  {json.dumps(check)}: {body}")
    head = f' "schema_version": {BASELINE_VERSION},\n "environment": {json.dumps(versions, sort_keys=True)},\n'
    claims = [f"  {json.dumps(name)}: {json.dumps(saved.claims[name])}" for name in sorted(saved.claims)]
    head += ' "claims": {\n' + ",\n".join(claims) + "\n },\n" if claims else ""
    return "{\n" + head + ' "checks": {\n' + ",\n".join(lines) + "\n }\n}\n"


def rounded(value: Numbers, tolerance: Allowed) -> Numbers:
    """Round to a hundredth of what a metric may move by; leave it as it is where it may not move, or is not finite."""
    if isinstance(value, list):
        return [rounded(item, tolerance) for item in value]
    if value is None or not math.isfinite(value):
        return value
    step = max(tolerance[0], tolerance[1] * abs(value)) / 100
    if step == 0:
        return value
    return round(value, -math.floor(math.log10(step))) + 0.0


def _spelled(value: Numbers) -> Any:
    """Return numbers as strict JSON can hold them: those that are not finite by name."""
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return (
        value if value is None or math.isfinite(value) else str(value).replace("nan", "NaN").replace("inf", "Infinity")
    )
