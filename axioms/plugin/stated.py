"""What the specs of a session state, beside what was run of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from axioms.core.errors import SpecError
from axioms.plugin.collect import item_name
from axioms.report.baseline import spec_of
from axioms.run.claims import claim_record
from axioms.run.results import Results
from axioms.spec import Expanded, expand_file


def complete(results: Results, root: Path, above: Mapping[str, str]) -> None:
    """Add to a run what only its end can tell: the checks that were not run, and the verdict of each claim.

    `above` is the tier of each check that was deselected for it, by id. Checks and claims are read from the specs
    themselves, because under xdist only the workers collect.
    """
    results.not_run, results.claims = [], []
    results.above_tier = above
    for spec in sorted({spec_of(nodeid) for nodeid in (*results.met, *above)}):
        try:
            expanded = expand_file(root / spec)
        except SpecError:
            continue
        _complete(results, spec, expanded)


def _complete(results: Results, spec: str, expanded: Expanded) -> None:
    ids = {check.order: f"{spec}::{item_name(check)}" for check in expanded.checks}
    met = set(results.met)
    results.not_run += [nodeid for nodeid in ids.values() if nodeid not in met]
    for claim in expanded.claims:
        deciding = [ids[check.order] for check in claim.checks]
        results.claims.append(claim_record(claim, spec, deciding, results))
