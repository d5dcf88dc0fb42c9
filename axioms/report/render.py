"""A table as Markdown, as LaTeX (booktabs) or as CSV."""

from __future__ import annotations

import csv
import io

from axioms.report.grid import Block, Cell, Grid, Number

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "Δ": r"$\Delta$",
}
PLACES_MARKDOWN = {1: "**{}**", 2: "*{}*"}
PLACES_LATEX = {1: r"\textbf{{{}}}", 2: r"\textit{{{}}}"}


def markdown_table(grid: Grid) -> str:
    """With its title, caption and legend. Headings over several columns join the first of their columns."""
    header = list(grid.header)
    start = 0
    for title, width in grid.groups:
        header[start] = f"{title}: {header[start]}"
        start += width
    lines = [header, [":---" if index in _labels(grid) else "---:" for index in range(len(header))]]
    for block in grid.blocks:
        lines += [[f"**{_plain(block.title)}**"]] if block.title else []
        for index, row in enumerate(block.rows):
            lines += [[_plain(block.sections[index])]] if index in block.sections else []
            lines.append([_markdown_cell(cell) for cell in row])
    table = ["| " + " | ".join([*line, *[""] * (len(header) - len(line))]) + " |" for line in lines]
    return "\n".join([f"**{grid.title}.** {grid.caption}", "", *table, "", grid.legend, ""])


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return _plain(cell)
    shown = PLACES_MARKDOWN.get(cell.place, "{}").format(_ours(cell))
    return " ".join(part for part in (shown, _interval(cell), _paper(cell)) if part)


def shown_cell(cell: Cell) -> tuple[str, str]:
    """A cell's own text and what follows it, the interval and the paper's number."""
    if isinstance(cell, str):
        return cell, ""
    return _ours(cell), " ".join(part for part in (_interval(cell), _paper(cell)) if part)


def latex_table(grid: Grid) -> str:
    """A `table` environment for \\input; it needs the packages booktabs and xcolor."""
    labels = _labels(grid)
    columns = "".join("l" if index in labels else "r" for index in range(len(grid.header)))
    lines = ["% \\usepackage{booktabs,xcolor}", "\\begin{table}", "\\centering", "\\small"]
    lines += [f"\\caption{{{escape(grid.caption)} {escape(grid.legend)}}}", f"\\label{{tab:{grid.name}}}"]
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", *_latex_groups(grid)]
    lines.append(" & ".join(escape(title) for title in grid.header) + r" \\")
    for block in grid.blocks:
        lines += ["\\midrule", *_latex_block(block, len(grid.header))]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])


def _latex_groups(grid: Grid) -> list[str]:
    if not grid.groups:
        return []
    headings, rules, start = [], [], 1
    for title, width in grid.groups:
        headings.append(f"\\multicolumn{{{width}}}{{c}}{{{escape(title)}}}")
        rules.append(f"\\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [" & ".join(headings) + r" \\", " ".join(rules)]


def _latex_block(block: Block, width: int) -> list[str]:
    def heading(text: str) -> str:
        return f"\\multicolumn{{{width}}}{{l}}{{\\textsc{{{escape(text)}}}}} \\\\"

    lines = [heading(block.title)] if block.title else []
    for index, row in enumerate(block.rows):
        lines += [heading(block.sections[index])] if index in block.sections else []
        lines.append(" & ".join(_latex_cell(cell) for cell in row) + r" \\")
    return lines


def _latex_cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escape(cell)
    shown = PLACES_LATEX.get(cell.place, "{}").format(_minus(_ours(cell)))
    interval, paper = _interval(cell), _paper(cell)
    parts = [
        shown,
        f"{{\\scriptsize {_minus(interval)}}}" if interval else "",
        f"\\textcolor{{gray}}{{{_minus(paper)}}}" if paper else "",
    ]
    return " ".join(part for part in parts if part)


def _minus(text: str) -> str:
    return text.replace("-", "$-$") if text != "-" else "--"


def escape(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(LATEX_SPECIAL.get(character, character) for character in text)


def csv_table(grid: Grid) -> str:
    """A line for each number, with everything that is known about it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "block", "row", "column", "ours", "low", "high", "n", "paper"])
    for block in grid.blocks:
        for row in block.rows:
            label = ""
            for title, cell in zip(grid.header, row, strict=True):
                if isinstance(cell, str):
                    label = cell
                    continue
                low, high = cell.interval or (None, None)
                column = title.rstrip(" ↑↓")
                writer.writerow([grid.name, block.title, label, column, cell.ours, low, high, cell.n, cell.paper])
    return out.getvalue()


def _labels(grid: Grid) -> set[int]:
    """The columns of labels: those whose first cell is a text."""
    return {index for index, cell in enumerate(grid.blocks[0].rows[0]) if isinstance(cell, str)}


def _ours(cell: Number) -> str:
    return "-" if cell.ours is None else _fixed(cell.ours, cell.digits)


def _interval(cell: Number) -> str:
    if cell.interval is None or not cell.show_interval:
        return ""
    return f"[{_fixed(cell.interval[0], cell.digits)}, {_fixed(cell.interval[1], cell.digits)}]"


def _paper(cell: Number) -> str:
    return "" if cell.paper is None else f"({_fixed(cell.paper, cell.digits)})"


def _fixed(number: float, digits: int) -> str:
    """Without the sign of a zero."""
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


RENDERERS = {"md": markdown_table, "tex": latex_table, "csv": csv_table}
