"""The first lines of a report: what a run came to, and everything that went wrong in it."""

from __future__ import annotations

from collections import Counter

from axioms.record import ClaimRecord, RunRecord
from axioms.report.page.outcomes import counts_of, every_check, in_words
from axioms.report.page.verdicts import VERDICTS
from axioms.report.text import Table, show


def headline_of(run: RunRecord) -> str:
    """Return the run in one sentence: errors, failures and drift by number, or that everything passes."""
    total = len(run.checks) + len(run.errors)
    wrong = []
    if run.errors:
        wrong.append(f"{_count(len(run.errors), 'check')} raised an error")
    if run.failed:
        wrong.append(f"{len(run.failed):,} of {_count(total, 'check')} {'fails' if len(run.failed) == 1 else 'fail'}")
    if run.baseline is not None and run.baseline.failed:
        wrong.append(f"{_count(drifted(run), 'number')} drifted from the baseline")
    unshown = [claim for claim in run.claims if is_unshown(claim)]
    if unshown:
        wrong.append(f"{_count(len(unshown), 'asserted claim')} {'is' if len(unshown) == 1 else 'are'} not shown")
    unfinished = "" if run.run.status in ("passed", "failed") else " The run was not finished."
    if wrong:
        return f"{_joined(wrong)}.{unfinished}"
    if run.run.status == "failed":
        return f"{_count(total, 'check')} {'passes' if total == 1 else 'pass'}, and the run failed elsewhere."
    return f"{'The one check passes' if total == 1 else f'All {total:,} checks pass'}.{unfinished}"


def is_unshown(claim: ClaimRecord) -> bool:
    """Tell whether a claim is asserted and was tested, and was not shown."""
    return claim.status == "asserted" and claim.verdict in ("contradicted", "not_shown")


def drifted(run: RunRecord) -> int:
    """Return how many numbers moved or are gone; what is new is no drift."""
    return 0 if run.baseline is None else sum(row[0] != "new" for row in run.baseline.rows)


def rest_of(run: RunRecord) -> list[str]:
    """Return what follows the headline: the claims, the checks, the skipped ones and those of higher tiers, counted."""
    lines = []
    if run.claims:
        counted = Counter(claim.verdict for claim in run.claims)
        listed = ", ".join(f"{counted[name]} {words}" for name, (_, words) in VERDICTS.items() if counted[name])
        lines.append(f"{_count(len(run.claims), 'claim')}: {listed}.")
    counts = counts_of(every_check(run))
    skipped = f" {len(run.skipped):,} skipped." if run.skipped else ""
    above = (
        f" {sum(run.above_tier.values()):,} of higher tiers: --axioms-tier {', '.join(run.above_tier)}."
        if run.above_tier
        else ""
    )
    return [*lines, f"{_count(sum(counts.values()), 'check')}: {in_words(counts)}.{skipped}{above}"]


def errors_table(run: RunRecord) -> Table:
    """Every check that raised, with what it said and where."""
    rows = [[check.id, check.error, check.where or str(check.place)] for check in run.errors]
    return ["check", "error", "where"], rows


def failures_table(run: RunRecord) -> Table:
    """Every check that failed: what was expected and what was measured."""
    rows = []
    for check in run.failed:
        expected = "; ".join(f"{bound.metric} {bound.bound}" for bound in check.bounds)
        measured = "; ".join(show(bound) for bound in check.bounds)
        rows.append([check.id, expected or check.reason, measured or "-", check.verdict, str(check.place)])
    return ["check", "expected", "measured", "verdict", "line"], rows


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
