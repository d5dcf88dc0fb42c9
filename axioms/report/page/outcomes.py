"""What became of a check, and how a page counts and words it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from axioms.record import CheckRecord, ErrorCheck, RunRecord

AnyCheck = CheckRecord | ErrorCheck
KINDS = {
    "error": ("!", "error"),
    "failed": ("✗", "failed"),
    "violated": ("≠", "violated, as claimed"),
    "holds": ("✓", "holds"),
    "refused": ("–", "refused, as claimed"),
    "recorded": ("·", "recorded"),
}
"""The outcomes of a check, the most telling first, each with its mark and its words."""
SPOKEN = ("error", "failed", "holds", "violated", "refused", "recorded")
"""The same outcomes in the order in which a sentence lists them."""
PLURALS = {"error": "errors", "holds": "hold", "failed": "fail"}
FAILING = ("error", "failed")


def every_check(run: RunRecord) -> list[AnyCheck]:
    """Return the checks that raised and those that were measured."""
    return [*run.errors, *run.checks]


def kind_of(check: AnyCheck) -> str:
    """Return the outcome of a check."""
    if isinstance(check, ErrorCheck):
        return "error"
    if not check.passed:
        return "failed"
    return check.verdict if check.verdict in KINDS else "recorded"  # an open question that the numbers do not decide


def counts_of(checks: Iterable[AnyCheck]) -> dict[str, int]:
    """Count the checks by their outcome, the most telling first."""
    counted = Counter(kind_of(check) for check in checks)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def in_words(counts: dict[str, int]) -> str:
    """`41 hold; 3 violated, as claimed`."""
    return "; ".join(f"{counts[kind]:,} {word_of(kind, counts[kind])}" for kind in SPOKEN if kind in counts)


def word_of(kind: str, count: int) -> str:
    """Return the words of an outcome, in the plural where several have it."""
    return KINDS[kind][1] if count == 1 else PLURALS.get(kind, KINDS[kind][1])


def anchor_of(name: str) -> str:
    """Return a name as an id of HTML."""
    return re.sub(r"[^\w]+", "-", name).strip("-")
