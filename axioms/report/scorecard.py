"""The answer at the end of a run: each paper's claims with their verdicts, beside what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.papers import PAPERS
from axioms.record import ClaimNumber, ClaimRecord
from axioms.report.text import aligned, claim_number

HEADER = ["", "claim", "subject", "verdict", "ours", "paper"]
WIDEST_CLAIM, WIDEST_SUBJECT, WIDEST_MISSING = 52, 36, 36
"""Characters of these columns; what is longer ends in three dots."""


def scorecard_lines(claims: Sequence[ClaimRecord]) -> list[str]:
    """Return the scorecard of each paper that the run has a claim of, and a line for the claims of no paper."""
    lines: list[str] = []
    papers = {claim.row.paper for claim in claims if claim.row is not None}
    for key in (key for key in dict.fromkeys([*PAPERS, *sorted(papers)]) if key in papers):
        lines += [*([""] if lines else []), *_scorecard(key, claims)]
    others = [claim for claim in claims if claim.row is None]
    if others:
        lines += [*([""] if lines else []), f"{'Other claims' if lines else 'Claims'}: {counts(others)}"]
        lines += [f"  {line}" for line in _undecided(others)]
    return lines


def counts(claims: Sequence[ClaimRecord]) -> str:
    """`3 shown, 1 not shown`."""
    words = [in_words(claim) for claim in claims]
    verdicts = ("shown", "contradicted", "not shown", "not run")
    return ", ".join(f"{words.count(verdict)} {verdict}" for verdict in verdicts if verdict in words)


def in_words(claim: ClaimRecord) -> str:
    """The verdict as a reader sees it."""
    return claim.verdict.replace("_", " ")


def _scorecard(key: str, claims: Sequence[ClaimRecord]) -> list[str]:
    """Return the title of a paper and a row for each of its claims on each subject."""
    by_row: dict[int, list[ClaimRecord]] = {}
    for claim in claims:
        if claim.row is not None and claim.row.paper == key:
            by_row.setdefault(claim.row.order, []).append(claim)
    paper = PAPERS.get(key)
    title = key if paper is None else f"{paper.name} ({paper.title})" if paper.name else paper.title
    lines = [line for order in sorted(by_row) for line in _lines_of(by_row[order])]
    table = [title, *(f"  {line}" for line in aligned(HEADER, lines))]
    elsewhere = [claim for rivals in by_row.values() for claim in _absent(rivals) if len(rivals) > len(_absent(rivals))]
    if elsewhere:
        subjects = ", ".join(dict.fromkeys(claim.subject for claim in elsewhere))
        table.append(f"  not run on: {subjects}: {_missing(elsewhere)}")
    return table


def _lines_of(claims: Sequence[ClaimRecord]) -> list[list[str]]:
    """Return a line for each subject on which a claim was run; one for all subjects where it was run on none."""
    row = claims[0].row
    assert row is not None
    lines = [[claim.subject, in_words(claim), ours_text(claim.number)] for claim in claims if not claim.missing]
    if not lines:
        subjects = ", ".join(dict.fromkeys(claim.subject for claim in claims))
        missing = shortened(_missing(claims), WIDEST_MISSING)
        lines = [[shortened(subjects, WIDEST_SUBJECT), in_words(claims[0]), missing]]
    heads = [[row.place, shortened(row.claim, WIDEST_CLAIM)], *[["", ""] for _ in lines[1:]]]
    papers = [row.printed_text, *["" for _ in lines[1:]]]
    return [[*head, *line, printed] for head, line, printed in zip(heads, lines, papers, strict=True)]


def _absent(claims: Sequence[ClaimRecord]) -> list[ClaimRecord]:
    return [claim for claim in claims if claim.missing]


def _missing(claims: Sequence[ClaimRecord]) -> str:
    """`--axioms-tier full, paper`."""
    return ", ".join(dict.fromkeys(claim.missing for claim in claims)).replace(", --axioms-tier ", ", ")


def _undecided(claims: Sequence[ClaimRecord]) -> list[str]:
    """Return a line for each claim that was run and not shown, with what it says."""
    telling = [claim for claim in claims if claim.verdict in ("contradicted", "not_shown") and claim.decided_by]
    rows = [[in_words(claim), claim.subject, ours_text(claim.number), shortened(claim.claim, 70)] for claim in telling]
    return aligned(rows[0], rows[1:]) if rows else []


def ours_text(number: ClaimNumber | None) -> str:
    """`r 0.83 [0.74, 0.88]`; empty where nothing was measured."""
    return "" if number is None else claim_number(number)


def shortened(text: str, width: int) -> str:
    """Return a text on one line, cut at a word where it is too long."""
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3].rsplit(' ', 1)[0]} ..."
