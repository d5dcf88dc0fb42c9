"""Claims with their verdicts: the scorecard of each paper, and what stands beside a spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from axioms.papers import PAPERS
from axioms.record import ClaimNumber, ClaimRecord, ClaimVerdict, RunRecord
from axioms.report.page.outcomes import anchor_of
from axioms.report.text import claim_number

VERDICTS: dict[ClaimVerdict, tuple[str, str]] = {
    "shown": ("✓", "shown"),
    "contradicted": ("✗", "contradicted"),
    "not_shown": ("≈", "not shown"),
    "not_run": ("○", "not run"),
}
"""The verdicts of a claim, each with its mark and its words."""
MOST_SUBJECTS = 5
"""A scorecard of more subjects would not fit a screen; those of a single claim then share columns."""
ELSEWHERE, NOT_RUN = "other subjects", "not run"
"""Those columns; their cells name the subject."""


@dataclass(frozen=True)
class ClaimCell:
    """A claim on one subject."""

    verdict: ClaimVerdict
    number: str
    """The deciding number with unit, interval and number of examples; empty where nothing was measured."""
    about: str
    """Whose number it is, and which metric; or what is missing."""
    is_open: bool
    spec: str
    anchor: str
    """Of the spec's section; empty where the run has none."""
    subject: str
    claim: str


@dataclass(frozen=True)
class ClaimRow:
    """A claim of a paper with its cells, by column."""

    key: str
    claim: str
    place: str
    printed: str
    cells: dict[str, list[ClaimCell]]


@dataclass(frozen=True)
class Scorecard:
    """The claims of one paper: rows are claims, columns are subjects, the last ones shared by several."""

    paper: str
    title: str
    anchor: str
    columns: list[str]
    rows: list[ClaimRow]
    counts: dict[ClaimVerdict, int]
    """Cells by verdict."""


def claim_cell(claim: ClaimRecord, parts: Sequence[str]) -> ClaimCell:
    """Return the cell of a claim; `parts` are those that the page has a section for."""
    number = claim.number
    return ClaimCell(
        verdict=claim.verdict,
        number="" if number is None else claim_number(number),
        about=claim.missing or ("" if number is None else _about(number)),
        is_open=claim.status == "open",
        spec=claim.spec,
        anchor=anchor_of(claim.part) if claim.part in parts else "",
        subject=claim.subject,
        claim=claim.claim,
    )


def _about(number: ClaimNumber) -> str:
    whose = f"{number.about}: " if number.about else ""
    return f"{whose}{number.metric}"


def scorecards_of(run: RunRecord) -> list[Scorecard]:
    """Return the scorecard of every paper that a claim of the run belongs to, in the order of the papers."""
    keys = dict.fromkeys([*PAPERS, *(claim.row.paper for claim in run.claims if claim.row is not None)])
    cards = [_scorecard(key, run) for key in keys]
    return [card for card in cards if card.rows]


def _scorecard(paper: str, run: RunRecord) -> Scorecard:
    claims = [claim for claim in run.claims if claim.row is not None and claim.row.paper == paper]
    column_of = _columns(claims)
    columns = sorted(dict.fromkeys(column_of.values()), key=[*column_of, ELSEWHERE, NOT_RUN].index)
    by_key: dict[str, list[ClaimRecord]] = {}
    for claim in sorted(claims, key=lambda claim: claim.row.order if claim.row is not None else 0):
        by_key.setdefault(claim.row.key if claim.row is not None else "", []).append(claim)
    rows = [_row(rivals, columns, column_of, list(run.by_part)) for rivals in by_key.values()]
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}
    title = f"{PAPERS[paper].title}. {PAPERS[paper].name}".rstrip(". ") if paper in PAPERS else paper
    return Scorecard(paper, title, f"scorecard-{anchor_of(paper)}", columns, rows, counts)


def _columns(claims: Sequence[ClaimRecord]) -> dict[str, str]:
    """Return the column of each subject, those that something was run on first."""
    run = Counter(claim.subject for claim in claims if claim.verdict != "not_run")
    subjects = dict.fromkeys([*run, *(claim.subject for claim in claims)])
    if len(subjects) <= MOST_SUBJECTS:
        return {subject: subject for subject in subjects}
    shared = {0: NOT_RUN, 1: ELSEWHERE}
    return {subject: shared.get(run[subject], subject) for subject in subjects}


def _row(
    claims: Sequence[ClaimRecord], columns: Sequence[str], column_of: Mapping[str, str], parts: Sequence[str]
) -> ClaimRow:
    row = claims[0].row
    assert row is not None
    cells: dict[str, list[ClaimCell]] = {column: [] for column in columns}
    for claim in claims:
        cells[column_of[claim.subject]].append(claim_cell(claim, parts))
    return ClaimRow(row.key, row.claim, row.place, row.printed_text, cells)
