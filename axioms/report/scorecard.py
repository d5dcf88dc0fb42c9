"""The answer at the end of a run: each paper's claims with their verdicts, beside what the paper printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from axioms.papers import PAPERS
from axioms.record import ClaimNumber, ClaimRecord
from axioms.report.text import aligned, claim_number

WIDEST_CLAIM, WIDEST_SUBJECT = 52, 36
"""Characters of these columns; what is longer ends in three dots."""


def scorecard_lines(claims: Sequence[ClaimRecord]) -> list[str]:
    """Return the scorecard of each paper that the run has a claim of, and a line for the claims of no paper."""
    papers = {claim.row.paper for claim in claims if claim.row is not None}
    keys = [key for key in dict.fromkeys([*PAPERS, *sorted(papers)]) if key in papers]
    lines = [line for key in keys for line in _scorecard(key, claims)]
    others = [claim for claim in claims if claim.row is None]
    if others:
        named = "".join(f"; {line}" for line in _named(others))
        lines.append(f"{'Other claims' if lines else 'Claims'}: {counts(others)}{named}")
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
    """Return a paper's name, a row for each of its claims on each subject, and what was not run."""
    rows = sorted((claim for claim in claims if claim.row is not None and claim.row.paper == key), key=_order)
    paper = PAPERS.get(key)
    name = key if paper is None else f"{paper.title}: {paper.name}" if paper.name else paper.title
    cells = _without_repeats([_cells(claim) for claim in rows if not claim.missing])
    header = [shortened(name, WIDEST_CLAIM + 2), "subject", "verdict", "ours", "paper"]
    return [*(aligned(header, cells) if cells else [name]), *_not_run(rows)]


def _order(claim: ClaimRecord) -> int:
    assert claim.row is not None
    return claim.row.order


def _cells(claim: ClaimRecord) -> list[str]:
    assert claim.row is not None
    text, subject = shortened(claim.row.claim, WIDEST_CLAIM), shortened(claim.subject, WIDEST_SUBJECT)
    return [f"  {text}", subject, in_words(claim), ours_text(claim.number), claim.row.printed_text]


def _without_repeats(rows: Sequence[list[str]]) -> list[list[str]]:
    """Leave out a claim and its printed number where the row above has the same ones, on another subject."""
    above = [["", ""], *([row[0], row[-1]] for row in rows)]
    return [
        ["", *row[1:-1], ""] if [row[0], row[-1]] == before else row for row, before in zip(rows, above, strict=False)
    ]


def _not_run(claims: Sequence[ClaimRecord]) -> list[str]:
    """Return a line: the claims that were run on no subject, how many more subjects there are, and what is missing."""
    absent = [claim for claim in claims if claim.missing]
    if not absent:
        return []
    run = {_order(claim) for claim in claims if not claim.missing}
    texts = dict.fromkeys(claim.row.claim for claim in absent if claim.row and _order(claim) not in run)
    subjects = dict.fromkeys(claim.subject for claim in absent if _order(claim) in run)
    names = ", ".join(subjects) if len(subjects) < 3 else f"{len(subjects)} further subjects"
    further = [f"others on {names}"] if subjects else []
    missing = ", ".join(sorted({claim.missing for claim in absent})).replace(", --axioms-tier ", ", ")
    return [f"  not run ({missing}): {'; '.join([*texts, *further])}"]


def _named(claims: Sequence[ClaimRecord]) -> list[str]:
    """Return the specs whose claims were run and not shown: `contradicted: removal_choice`."""
    names = []
    for verdict in ("contradicted", "not_shown"):
        specs = dict.fromkeys(Path(claim.spec).stem for claim in claims if claim.verdict == verdict)
        if specs:
            names.append(f"{verdict.replace('_', ' ')}: {', '.join(specs)}")
    return names


def ours_text(number: ClaimNumber | None) -> str:
    """`r 0.83 [0.74, 0.88] n=64`; empty where nothing was measured."""
    return "" if number is None else claim_number(number)


def shortened(text: str, width: int) -> str:
    """Return a text on one line, cut at a word where it is too long."""
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3].rsplit(' ', 1)[0]} ..."
