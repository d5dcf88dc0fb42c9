"""A table as Markdown, as LaTeX or as CSV."""

from __future__ import annotations

import csv
import io

from axioms.report.grid import Cell, Grid
from axioms.report.latex import latex_table

SECOND = {"italic": "*{}*", "underlined": "<u>{}</u>"}


def markdown_table(grid: Grid) -> str:
    """With its title, caption and legend. Headings over several columns join the first of their columns."""
    header = list(grid.header)
    start = 0
    for title, width in grid.groups:
        header[start] = f"{title}: {header[start]}" if title else header[start]
        start += width
    lines = [header, [":---" if index in grid.labels else "---:" for index in range(len(header))]]
    for block in grid.blocks:
        lines += [[f"**{_plain(block.title)}**"]] if block.title else []
        for index, row in enumerate(block.rows):
            lines += [[_plain(block.sections[index])]] if index in block.sections else []
            lines.append([_markdown_cell(cell, SECOND[grid.second]) for cell in row])
    table = ["| " + " | ".join([*line, *[""] * (len(header) - len(line))]) + " |" for line in lines]
    legend = [grid.legend, ""] if grid.legend else []
    return "\n".join([f"**{grid.full_title}.** {grid.caption}", "", *table, "", *legend])


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _markdown_cell(cell: Cell, second: str) -> str:
    if isinstance(cell, str):
        return _plain(cell)
    shown = {1: "**{}**", 2: second}.get(cell.place, "{}").format(cell.ours_text)
    return " ".join(part for part in (shown, cell.interval_text, cell.paper_text) if part)


def csv_table(grid: Grid) -> str:
    """A line for each number, with everything that is known about it; a table of texts as it stands."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if not grid.numbers:
        writer.writerow(grid.header)
        writer.writerows(row for block in grid.blocks for row in block.rows)
        return out.getvalue()
    writer.writerow(["table", "block", "row", "group", "column", "ours", "low", "high", "n", "paper"])
    for block in grid.blocks:
        for row in block.rows:
            label = ""
            for group, title, cell in zip(grid.group_of, grid.header, row, strict=True):
                if isinstance(cell, str):
                    label = cell
                    continue
                place = [grid.name, block.title, label, group, title.rstrip(" ↑↓")]
                writer.writerow([*place, cell.ours, *(cell.interval or (None, None)), cell.n, cell.paper])
    return out.getvalue()


RENDERERS = {"md": markdown_table, "tex": latex_table, "csv": csv_table}
