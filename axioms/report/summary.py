"""summary.md: a run on one page, for a terminal, a pull request or a CI job; and what ends a run in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.record import CheckRecord, Drift, RunRecord
from axioms.report.page.headline import errors_table, failures_table, headline_of, rest_of
from axioms.report.page.matrix import Place, matrix_of
from axioms.report.page.outcomes import every_check, in_words
from axioms.report.page.sections import groups_of, sections_of
from axioms.report.page.verdicts import VERDICTS, ClaimCell, scorecards_of
from axioms.report.rewrites import applicability, cells_of, in_one_line
from axioms.report.spec_tables import BASELINE, FOLDER, NONEXISTENT, REWRITES
from axioms.report.tables import CLAIMED, beside_paper, comparisons, matrix, nonexistent
from axioms.report.text import Table, aligned, as_markdown, markdown, within

MOST_WRONG, MOST_CLAIMS, MOST_METHODS = 6, 48, 30
"""Rows of the tables of errors, failures and drift; of the scorecards together; and of the matrix."""


def summary_markdown(run: RunRecord) -> str:
    """Return the verdict in one line, what went wrong, the scorecards, the matrix, and links to the long tables."""
    packages = ", ".join(f"{name} {version}" for name, version in run.environment.packages.items() if version)
    lines = ["# Axioms", "", f"**{headline_of(run)}** {' '.join(rest_of(run))} Run {run.run.status}.", ""]
    lines += _cut("Raised an error", errors_table(run), MOST_WRONG, "index.html")
    lines += _cut("Failed", failures_table(run), MOST_WRONG, "index.html")
    lines += _baseline(run.baseline)
    lines += _scorecards(run)
    lines += _cut("Methods and axioms", _matrix(run), MOST_METHODS, "index.html")
    if run.checks:
        lines += ["`VIOLATED*`: violated, as the spec claims. Ranges are over all specs and subjects.", ""]
    lines += _specs(run)
    commit = run.run.git_commit or "unknown"
    return "\n".join([*lines, f"Commit {commit}; Python {run.environment.python}; {packages}.", ""])


def _cut(title: str, table: Table, most: int, rest: str) -> list[str]:
    """Return a section with the first rows of a table, and a link to where the others are; nothing without rows."""
    header, rows = table
    if not rows:
        return []
    more = [f"And {len(rows) - most} more, in [{rest}]({rest}).", ""] if len(rows) > most else []
    return [f"## {as_markdown(title)}", "", *markdown(header, rows[:most]), "", *more]


def _baseline(drift: Drift | None) -> list[str]:
    """Return what changed from the last accepted run, where the run was compared with one."""
    if drift is None:
        return []
    said = as_markdown(" ".join(drift.said))
    if not drift.rows:
        return ["## Baseline", "", said, ""]
    return [*_cut("Baseline", (drift.header, drift.rows), MOST_WRONG, f"tables/{BASELINE}"), said, ""]


def _scorecards(run: RunRecord) -> list[str]:
    """Return the claims of each paper: claim, subject, verdict, our number and the paper's."""
    lines: list[str] = []
    left = MOST_CLAIMS
    for card in scorecards_of(run):
        rows = [
            [
                f"{row.place}: {row.claim}",
                cell.subject,
                VERDICTS[cell.verdict][1],
                cell.number or cell.about,
                row.printed,
            ]
            for row in card.rows
            for cells in row.cells.values()
            for cell in cells
        ]
        lines += _cut(card.title, (["claim", "subject", "verdict", "ours", "paper"], rows), max(left, 1), "index.html")
        left -= len(rows)
    return lines


def _ours(cell: ClaimCell) -> str:
    return cell.number or cell.about


def _matrix(run: RunRecord) -> Table:
    axioms, rows = matrix_of(every_check(run))
    return ["", *axioms], [[row.method, *map(_cell, row.places)] for row in rows]


def _cell(place: Place) -> str:
    """`3 hold, r 0.25…0.75`; the most telling outcome of a cell in capitals where somebody should look."""
    if not place.kind:
        return "-"
    loud = {"error": "ERROR", "failed": "FAILED", "violated": CLAIMED}
    words = in_words({place.kind: place.counts[place.kind]})
    count = place.counts[place.kind]
    text = f"{loud[place.kind]} {count}" if place.kind in loud else words.removesuffix(", as claimed")
    text = f"{text} of {place.total}" if place.total > count else text
    return f"{text}, {place.range_text}" if place.range_text else text


def _specs(run: RunRecord) -> list[str]:
    """Return a row for each group of specs, and where their tables are."""
    groups = groups_of(sections_of(run, []))
    rows = [[group.name, str(len(group.sections)), in_words(group.counts)] for group in groups]
    links = {f"{FOLDER}/": "every spec with its numbers"}
    links |= {NONEXISTENT: "what does not exist"} if nonexistent(run.checks)[1] else {}
    links |= {REWRITES: "rewrites"} if applicability(run.checks, run.skipped)[1] else {}
    listed = ", ".join(f"[{text}](tables/{name})" for name, text in links.items())
    table = [*markdown(["specs", "specs or subjects", "checks"], rows), ""] if rows else []
    return ["## Specs", "", *table, f"Long tables: {listed}; the papers' in [tables](tables).", ""]


def closing_lines(checks: Sequence[CheckRecord], width: int) -> list[str]:
    """The matrix, the numbers beside the paper's and the comparisons, for a terminal of that width."""
    header, rows = matrix(checks)
    lines = within(width, header, rows)
    if any(CLAIMED in row for row in rows):
        lines.append("* violated, as its spec claims")
    for part in dict.fromkeys(check.part for check in checks):
        here = [check for check in checks if check.part == part]
        for header, rows in (beside_paper(here), comparisons(here)):
            if rows:
                lines += ["", part, *(f"  {line}" for line in aligned(header, rows))]
    cells = cells_of(checks)
    for part in dict.fromkeys(place.model for place in cells):
        lines += ["", f"{part}: {in_one_line([place for place in cells if place.model == part])}"]
    return lines
