"""A table as Markdown, as LaTeX or as CSV; and the papers' tables of a run, printed or written beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from axioms.core.errors import InputError, did_you_mean, display_path
from axioms.core.printable import printable
from axioms.papers import PAPERS
from axioms.papers.grid import Cell, Grid
from axioms.papers.tables import every_table, paper_tables
from axioms.record import RunRecord, read_record
from axioms.report.latex import document, latex_table
from axioms.report.text import as_markdown

SECOND = {"italic": "*{}*", "underlined": "<u>{}</u>"}


def markdown_table(grid: Grid) -> str:
    """With its title, caption and legend. Headings over several columns join the first of their columns."""
    header = [as_markdown(title) for title in grid.header]
    start = 0
    for title, width in grid.groups:
        header[start] = f"{as_markdown(title)}: {header[start]}" if title else header[start]
        start += width
    lines = [header, [":---" if index in grid.labels else "---:" for index in range(len(header))]]
    for block in grid.blocks:
        lines += [[f"**{as_markdown(block.title)}**"]] if block.title else []
        for index, row in enumerate(block.rows):
            lines += [[as_markdown(block.sections[index])]] if index in block.sections else []
            lines.append([_markdown_cell(cell, SECOND[grid.second]) for cell in row])
    table = ["| " + " | ".join([*line, *[""] * (len(header) - len(line))]) + " |" for line in lines]
    legend = [grid.legend, ""] if grid.legend else []
    return "\n".join([f"**{grid.full_title}.** {grid.caption}", "", *table, "", *legend])


def _markdown_cell(cell: Cell, second: str) -> str:
    if isinstance(cell, str):
        return as_markdown(cell)
    shown = {1: "**{}**", 2: second}.get(cell.place, "{}").format(cell.ours_text)
    return " ".join(part for part in (shown, cell.interval_text, cell.paper_text) if part)


def csv_table(grid: Grid) -> str:
    """A line for each number, with everything that is known about it; a table of texts as it stands."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if not grid.numbers:
        writer.writerow(map(printable, grid.header))
        writer.writerows([printable(str(cell)) for cell in row] for block in grid.blocks for row in block.rows)
        return out.getvalue()
    writer.writerow(["table", "block", "row", "group", "column", "ours", "low", "high", "n", "paper"])
    for block in grid.blocks:
        for row in block.rows:
            label = ""
            for group, title, cell in zip(grid.group_of, grid.header, row, strict=True):
                if isinstance(cell, str):
                    label = cell
                    continue
                place = map(printable, (grid.name, block.title, label, group, title.rstrip(" ↑↓")))
                writer.writerow([*place, cell.ours, *(cell.interval or (None, None)), cell.n, cell.paper])
    return out.getvalue()


RENDERERS = {"md": markdown_table, "tex": latex_table, "csv": csv_table}


def write_tables(grids: Sequence[Grid], folder: Path) -> list[Path]:
    """Write each table as Markdown, LaTeX and CSV.

    Those that an earlier run left and this one does not feed are removed: they would not be of this results.json.
    """
    written = []
    for grid in grids:
        for kind, render in RENDERERS.items():
            file = folder / f"{grid.name}.{kind}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(render(grid), encoding="utf-8")
            written.append(file)
    for file in folder.glob("*"):
        if file.suffix.removeprefix(".") in RENDERERS and file not in written:
            file.unlink()
    return written


def write_paper_pages(run: RunRecord, folder: Path) -> list[Path]:
    """Write the page of every paper that has one and that the run feeds; remove what an earlier run left."""
    written = []
    for paper in PAPERS.values():
        if paper.page is None:
            continue
        file = folder / f"{paper.page.name}.md"
        grids = paper_tables(paper, run)
        if not grids:
            file.unlink(missing_ok=True)
            continue
        lines = [f"# {paper.page.heading}", ""]
        for grid in grids:
            lines += [*markdown_table(grid).splitlines(), ""]
        file.write_text("\n".join([*lines, *map(as_markdown, paper.page.remarks(run)), ""]), encoding="utf-8")
        written.append(file)
    return written


def print_tables(run: Path, kind: str, name: str | None) -> str:
    """The papers' tables of a saved run, or one of them, as text."""
    return "\n".join(RENDERERS[kind](grid) for grid in chosen_tables(run, name))


def print_document(run: Path, name: str | None) -> str:
    """The same as a LaTeX document that compiles as it is."""
    return document(chosen_tables(run, name))


def chosen_tables(run: Path, name: str | None) -> list[Grid]:
    """The tables of a saved run, or the one of that name."""
    record = read_record(run)
    grids = {grid.name: grid for grid in every_table(record)}
    known = {name for paper in PAPERS.values() for name in paper.tables}
    unknown = sorted({check.table.name for check in record.checks if check.table is not None} - known)
    hint = f" No paper here has the table {unknown[0]!r}: --import the module that registers it." if unknown else ""
    if not grids:
        raise InputError(
            f"{display_path(run)} feeds no table: none of its specs has a `table`, or is about the agreement benchmark."
            + hint
        )
    if name is not None and name not in grids:
        raise InputError(f"{display_path(run)} has no table {name!r}.{did_you_mean(name, grids) or hint}")
    return list(grids.values()) if name is None else [grids[name]]
