"""Method x rewrite: what holds, what is violated and by how much; and which rewrites apply where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axioms.report.tables import markdown

Row = list[str]
INVARIANCE = "implementation_invariance"
FORWARD = "forward_equivalence"


@dataclass(frozen=True)
class Cell:
    """One method on one rewrite of one model."""

    model: str
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


def cells_of(records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """The cells among the records of a run."""
    found = []
    for record in records:
        if record.get("rewrite") is None or record["axiom"] != INVARIANCE:
            continue
        values = record["values"].get("relative_gap") or []
        gap = None if not values or any(each is None for each in values) else max(values)
        claimed = bool(record["violation_claimed"])
        why = record.get("because") or ("" if record["verdict"] != "refused" else record["reason"])
        found.append(
            Cell(
                record["spec"],
                record["method"],
                record["rewrite"],
                record["verdict"],
                gap,
                record["passed"],
                claimed,
                why,
            )
        )
    return found


def matrix_of(cells: Sequence[Cell]) -> tuple[Row, list[Row]]:
    """Header and rows of rewrite x method, for the cells of one model."""
    methods = list(dict.fromkeys(cell.method for cell in cells))
    by_place = {(cell.rewrite, cell.method): cell for cell in cells}
    rows = []
    for rewrite in dict.fromkeys(cell.rewrite for cell in cells):
        found = [by_place.get((rewrite, method)) for method in methods]
        rows.append([rewrite, *("-" if cell is None else cell.text for cell in found)])
    return ["", *methods], rows


def violations_of(cells: Iterable[Cell]) -> tuple[Row, list[Row]]:
    """Header and rows of everything that is violated or refused, with its size and the reason that the spec gives."""
    rows = []
    for cell in cells:
        if cell.verdict != "holds":
            size = "-" if cell.gap is None else f"{cell.gap:.1e}"
            rows.append([cell.rewrite, cell.method, cell.verdict, size, cell.because or "-"])
    return ["rewrite", "method", "", "gap", "why"], rows


def applicability(records: Iterable[Mapping[str, Any]], skipped: Mapping[str, str]) -> tuple[Row, list[Row]]:
    """Header and rows of rewrite x model: the forward gap where it applies, else why it does not."""
    table: dict[str, dict[str, str]] = {}
    for record in records:
        if record.get("rewrite") is None or record["axiom"] != FORWARD:
            continue
        refused = record["verdict"] == "refused"
        gap = max(record["values"].get("gap") or [0.0], key=lambda each: each if each is not None else float("inf"))
        shown = f"no: {record['reason']}" if refused else "not finite" if gap is None else f"{gap:.0e}"
        table.setdefault(record["rewrite"], {})[record["spec"]] = shown
    for nodeid, reason in skipped.items():
        spec, _, item = nodeid.partition(f"::{FORWARD}[")
        if item and "does not apply" in reason:
            table.setdefault(item.rstrip("]"), {})[spec] = f"no: {reason.partition(': ')[2]}"
    specs = sorted({spec for row in table.values() for spec in row})
    rows = [[name, *(table[name].get(spec, "-") for spec in specs)] for name in sorted(table)]
    if rows:
        counts = (sum(row.get(spec, "no").partition(":")[0] != "no" for row in table.values()) for spec in specs)
        rows.append(["rewrites that apply", *map(str, counts)])
    return ["rewrite", *specs], rows


def matrix_markdown(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tables of one spec: the matrix, and everything that is violated with its size."""
    cells = cells_of(records)
    header, rows = violations_of(cells)
    lines = [*markdown(*matrix_of(cells)), "", "`VIOLATED*`: violated, as the spec claims.", ""]
    return [*lines, *(markdown(header, rows) if rows else ["Nothing is violated."]), ""]


def applicability_markdown(records: Sequence[Mapping[str, Any]], skipped: Mapping[str, str]) -> list[str]:
    """Which rewrites apply where; nothing where no check was about one."""
    header, rows = applicability(records, skipped)
    if not rows:
        return []
    about = "Where a rewrite applies, the largest forward gap in float64; else why it does not."
    return ["## Rewrites", "", about, "", *markdown(header, rows), ""]


def in_one_line(cells: Sequence[Cell]) -> str:
    """How many hold, for the end of a run."""
    count = {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in ("holds", "violated", "refused")}
    claimed = sum(cell.verdict == "violated" and cell.claimed for cell in cells)
    rewrites = len({cell.rewrite for cell in cells})
    return (
        f"{rewrites} rewrites apply, {count['holds']} of {len(cells)} cells hold, {count['violated']} are violated "
        f"({claimed} as claimed), {count['refused']} refused"
    )
