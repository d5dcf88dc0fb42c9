"""Method x rewrite: what holds, what is violated and by how much; and which rewrites apply where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from axioms.record import CheckRecord, SkippedCheck
from axioms.report.text import Table, markdown

INVARIANCE, GAP = "implementation_invariance", "relative_gap.max"
FORWARD, FORWARD_GAP = "forward_equivalence", "gap.max"


@dataclass(frozen=True)
class Cell:
    """One method on one rewrite of one model."""

    model: str
    """The part of the run, or what an audit was asked about."""
    method: str
    rewrite: str
    verdict: str
    gap: float | None
    """Relative; None where there is none: the method refused, or a number was not finite."""
    passed: bool = True
    claimed: bool = False
    """Whether a spec (or `--allow`) says that it is violated."""
    because: str = ""

    @property
    def text(self) -> str:
        """`holds`, `VIOLATED 3e-02*`, `refused`."""
        if self.verdict == "violated":
            return f"VIOLATED {self.gap:.0e}{'*' if self.claimed else ''}"
        return self.verdict


def cells_of(checks: Iterable[CheckRecord]) -> list[Cell]:
    """Return the cells among the checks of a run."""
    cells = []
    for check in checks:
        if check.rewrite is not None and check.axiom == INVARIANCE:
            largest = check.quantity(GAP)
            gap = None if largest is None else largest.number
            why = check.because or ("" if check.verdict != "refused" else check.reason)
            place = (check.part, str(check.method), check.rewrite)
            cells.append(Cell(*place, check.verdict, gap, check.passed, check.violation_claimed, why))
    return cells


def matrix_of(cells: Sequence[Cell]) -> Table:
    """Rewrite x method, for the cells of one model."""
    methods = list(dict.fromkeys(cell.method for cell in cells))
    texts = {(cell.rewrite, cell.method): cell.text for cell in cells}
    rewrites = dict.fromkeys(cell.rewrite for cell in cells)
    rows = [[rewrite, *(texts.get((rewrite, method), "-") for method in methods)] for rewrite in rewrites]
    return ["", *methods], rows


def violations_of(cells: Iterable[Cell]) -> Table:
    """Everything that is violated or refused, with its size and the reason that the spec gives."""
    rows = []
    for cell in cells:
        if cell.verdict != "holds":
            size = "-" if cell.gap is None else f"{cell.gap:.1e}"
            rows.append([cell.rewrite, cell.method, cell.verdict, size, cell.because or "-"])
    return ["rewrite", "method", "", "gap", "why"], rows


def applicability(checks: Iterable[CheckRecord], skipped: Iterable[SkippedCheck]) -> Table:
    """Rewrite x part of the run: the forward gap where the rewrite applies, else why it does not."""
    table: dict[str, dict[str, str]] = {}
    applies: dict[str, int] = {}
    for check in checks:
        if check.rewrite is not None and check.axiom == FORWARD:
            refused = check.verdict == "refused"
            table.setdefault(check.rewrite, {})[check.part] = f"no: {check.reason}" if refused else _forward_gap(check)
            applies[check.part] = applies.get(check.part, 0) + (not refused)
    for absent in skipped:
        if absent.rewrite is not None and absent.axiom == FORWARD and absent.not_applicable is not None:
            table.setdefault(absent.rewrite, {})[absent.part] = f"no: {absent.not_applicable}"
    parts = sorted({part for row in table.values() for part in row})
    rows = [[name, *(table[name].get(part, "-") for part in parts)] for name in sorted(table)]
    if rows:
        rows.append(["rewrites that apply", *(str(applies.get(part, 0)) for part in parts)])
    return ["rewrite", *parts], rows


def _forward_gap(check: CheckRecord) -> str:
    gap = check.quantity(FORWARD_GAP)
    return "not finite" if gap is None or gap.number is None else f"{gap.number:.0e}"


def matrix_markdown(checks: Sequence[CheckRecord]) -> list[str]:
    """The tables of one spec: the matrix, and everything that is violated with its size."""
    cells = cells_of(checks)
    header, rows = violations_of(cells)
    lines = [*markdown(*matrix_of(cells)), "", "`VIOLATED*`: violated, as the spec claims.", ""]
    return [*lines, *(markdown(header, rows) if rows else ["Nothing is violated."]), ""]


def in_one_line(cells: Sequence[Cell]) -> str:
    """Say how many cells hold, for the end of a run."""
    count = {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in ("holds", "violated", "refused")}
    claimed = sum(cell.verdict == "violated" and cell.claimed for cell in cells)
    rewrites = len({cell.rewrite for cell in cells})
    return (
        f"{rewrites} rewrites apply, {count['holds']} of {len(cells)} cells hold, {count['violated']} are violated "
        f"({claimed} as claimed), {count['refused']} refused"
    )
