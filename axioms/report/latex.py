"""A table as LaTeX (booktabs), and a document of several that compiles as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from axioms.papers.grid import Block, Cell, Grid

PACKAGES = "booktabs,graphicx,rotating,xcolor"
SPECIAL = {
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
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "Δ": r"$\Delta$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "ε": r"$\varepsilon$",
    "γ": r"$\gamma$",
    "–": "--",
    "—": "---",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\dots{}",
}
LAST_ACCENTED = "\u017f"
"""Latin letters with accents end here; pdflatex stops at what lies beyond and is not set up."""
SECOND = {"italic": r"\textit{{{}}}", "underlined": r"\underline{{{}}}"}
UPRIGHT = 110
"""The width in characters up to which a table stands upright on a page; a wider one lies on its side."""
ROWS = {"table": 44, "sidewaystable": 32}
"""Rows that a page has room for; what is longer goes on in another table."""
ROOM = (r"\vspace{4pt}", r"\setlength{\tabcolsep}{4pt}")
FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""A box as wide as its content, and never wider than the page."""


def document(grids: Iterable[Grid]) -> str:
    """All tables in a document that pdflatex compiles."""
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[a4paper,margin=20mm]{geometry}",
            rf"\usepackage{{{PACKAGES}}}",
            r"\begin{document}",
            *map(latex_table, grids),
            r"\end{document}",
            "",
        ]
    )


def latex_table(grid: Grid) -> str:
    """`table` environments for \\input, one unless it is longer than a page; wide ones lie on their side."""
    kind = "table" if _width(grid) <= UPRIGHT else "sidewaystable"
    parts = list(_pages(grid, ROWS[kind]))
    return "".join(_environment(replace(grid, blocks=part), kind, number) for number, part in enumerate(parts))


def _environment(grid: Grid, kind: str, number: int) -> str:
    source = f" {grid.full_title}." if grid.paper else ""
    caption = f"{grid.caption}{source} {grid.legend}".strip() if number == 0 else f"{grid.full_title}, continued."
    label = f"tab:{grid.name}" if number == 0 else f"tab:{grid.name}-{number + 1}"
    lines = [f"% \\usepackage{{{PACKAGES}}}", f"\\begin{{{kind}}}", "\\centering", "\\small"]
    lines += [f"\\caption{{{escape(caption)}}}", f"\\label{{{label}}}", *ROOM, FITTED]
    lines += [f"\\begin{{tabular}}{{{_columns(grid)}}}", "\\toprule", *_groups(grid)]
    lines.append(" & ".join(escape(title) for title in grid.header) + r" \\")
    for block in grid.blocks:
        lines += ["\\midrule", *_block(block, grid)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}}", f"\\end{{{kind}}}", ""])


def _columns(grid: Grid) -> str:
    """Texts to the left, numbers to the right, and room before each group of columns."""
    starts = {sum(width for _, width in grid.groups[:number]) for number in range(1, len(grid.groups))}
    gaps = ("@{\\hspace{12pt}}" if at in starts else "" for at in range(len(grid.header)))
    return "".join(gap + ("l" if at in grid.labels else "r") for at, gap in enumerate(gaps))


def _pages(grid: Grid, rows: int) -> Iterator[list[Block]]:
    """The blocks that stand together on a page, in order; a block that is longer than a page goes on on the next."""
    page: list[Block] = []
    for block in (piece for whole in grid.blocks for piece in _pieces(whole, rows)):
        if page and sum(len(other.rows) for other in page) + len(block.rows) > rows:
            yield page
            page = []
        page.append(block)
    yield page


def _pieces(block: Block, rows: int) -> Iterator[Block]:
    for start in range(0, len(block.rows), rows):
        sections = {at - start: text for at, text in block.sections.items() if start <= at < start + rows}
        title = block.title if start == 0 or not block.title else f"{block.title}, continued"
        yield Block(title, block.rows[start : start + rows], sections)


def _width(grid: Grid) -> int:
    """The characters of the widest row, roughly."""
    rows: list[Sequence[Cell]] = [grid.header, *(row for block in grid.blocks for row in block.rows)]
    return sum(max(len(_shown(row[at])) for row in rows) + 2 for at in range(len(grid.header)))


def _shown(cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{cell.ours_text} {cell.interval_text} {cell.paper_text}".strip()


def _groups(grid: Grid) -> list[str]:
    if not grid.groups:
        return []
    headings, rules, start = [], [], 1
    for title, width in grid.groups:
        headings.append(f"\\multicolumn{{{width}}}{{c}}{{{escape(title)}}}")
        rules += [f"\\cmidrule(lr){{{start}-{start + width - 1}}}"] if title else []
        start += width
    return [" & ".join(headings) + r" \\", " ".join(rules)]


def _block(block: Block, grid: Grid) -> list[str]:
    def heading(text: str) -> str:
        return f"\\multicolumn{{{len(grid.header)}}}{{l}}{{\\textsc{{{escape(text)}}}}} \\\\"

    lines = [heading(block.title)] if block.title else []
    for index, row in enumerate(block.rows):
        lines += [heading(block.sections[index])] if index in block.sections else []
        lines.append(" & ".join(_cell(cell, SECOND[grid.second]) for cell in row) + r" \\")
    return lines


def _cell(cell: Cell, second: str) -> str:
    if isinstance(cell, str):
        return escape(cell)
    places = {1: r"\textbf{{{}}}", 2: second}
    parts = [
        places.get(cell.place, "{}").format(_minus(cell.ours_text)),
        f"{{\\scriptsize {_minus(cell.interval_text)}}}" if cell.interval_text else "",
        f"\\textcolor{{black!60}}{{{_minus(cell.paper_text)}}}" if cell.paper_text else "",
    ]
    return " ".join(part for part in parts if part)


def _minus(text: str) -> str:
    return text.replace("-", "$-$") if text != "-" else "--"


def escape(text: str) -> str:
    """Text that LaTeX prints as it is; a character that pdflatex cannot print stands as its number."""
    return "".join(
        SPECIAL.get(letter, letter if letter.isprintable() and letter <= LAST_ACCENTED else f"[U+{ord(letter):04X}]")
        for letter in text.replace("\n", " ")
    )
