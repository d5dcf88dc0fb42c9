"""Tables of a card as rows of text, which the page and Markdown share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from axioms.commands.card.compare import Table
from axioms.commands.card.content import Card, model_of
from axioms.commands.card.tables import Shares

NO_RULE = "no rule"
PARTS = ("tokens", "bias", "position", "softmax", "norm", "epsilon", "gradient", "unexplained")


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, and what kind it is: a verdict, or `higher` and `lower` of a difference."""

    text: str
    kind: str = ""
    below: str = ""
    """A second line: the paired difference."""


@dataclass(frozen=True)
class Grid:
    """A header and rows, each with a name."""

    header: list[str]
    rows: list[tuple[str, list[Cell]]]


def rewrite_grid(card: Card) -> Grid:
    """Return what the method makes of each rewrite of each model; empty where a rewrite does not apply."""
    models = list(dict.fromkeys(cell.model for cell in card.rewrites))
    cells = {(cell.rewrite, cell.model): _rewritten(cell.verdict, cell.gap) for cell in card.rewrites}
    rewrites = dict.fromkeys(cell.rewrite for cell in card.rewrites)
    rows = [(name, [cells.get((name, model), Cell("")) for model in models]) for name in rewrites]
    return Grid(["rewrite", *map(model_of, models)], rows)


def _rewritten(verdict: str, gap: float | None) -> Cell:
    if verdict == "refused":
        return Cell(NO_RULE, "refused")
    if verdict == "holds":
        return Cell("holds", "holds")
    return Cell("not finite" if gap is None else f"gap {gap:.2g}", verdict)


def compared_grid(table: Table) -> Grid:
    """Return the methods down and the metrics across, with the paired difference below each number."""
    rows = []
    for row in table.rows:
        cells = []
        for cell in row.cells:
            text = "" if cell.estimate is None else cell.estimate.text()
            below = "" if cell.difference is None else cell.difference.text("+")
            cells.append(Cell(text, "" if cell.difference is None else cell.difference.direction, below))
        rows.append((f"{row.method} ({row.options})" if row.options else row.method, cells))
    return Grid(["method", *(column.title for column in table.columns)], rows)


def families_grid(card: Card, title: str) -> Grid:
    """Return one metric on the families of tiny models: families down, methods across."""
    tables = [table for table in card.subjects if table.is_random]
    methods = list(dict.fromkeys(row.method for table in tables for row in table.rows))
    rows = []
    for table in tables:
        grid = compared_grid(table)
        if title not in grid.header:
            continue
        at = grid.header.index(title) - 1
        cells = {row.method: made[at] for row, (_, made) in zip(table.rows, grid.rows, strict=True)}
        rows.append((table.key, [cells.get(method, Cell("")) for method in methods]))
    return Grid(["family", *methods], rows)


def precision_grid(card: Card) -> Grid:
    """Return for each family of models the gap to float64, and how many roundings that is."""
    dtypes = list(dict.fromkeys(dtype for row in card.precision for dtype in row.gaps))
    header = ["family", *(f"{dtype}: {what}" for dtype in dtypes for what in ("gap", "roundings"))]
    rows = []
    for row in card.precision:
        pairs = [row.gaps.get(dtype, (math.nan, math.nan)) for dtype in dtypes]
        rows.append((row.family, [Cell(text) for gap, size in pairs for text in (_number(gap), _number(size))]))
    return Grid(header, rows)


def _number(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.1e}" if number and abs(number) < 0.01 else f"{number:.2f}"


def ledger_grid(card: Card) -> Grid:
    """Return the shares of the output that reached the tokens, that operations absorbed and that nothing explains."""
    sizes = {part: max((abs(row.shares.get(part, 0.0)) for row in card.ledger), default=0.0) for part in PARTS}
    sizes["unexplained"] = max((1.0 for row in card.ledger if "unexplained" in row.shares), default=0.0)
    names = [part for part, size in sizes.items() if size >= 5e-4]
    rows = [(f"{row.method}, {row.subject}", [Cell(_share(row, name)) for name in names]) for row in card.ledger]
    return Grid(["method, subject", *names], rows)


def _share(row: Shares, name: str) -> str:
    if name not in row.shares:
        return ""
    text = f"{row.shares[name]:.1%}"
    return "0%" if text in ("0.0%", "-0.0%") else text


def cost_grid(card: Card) -> Grid:
    """Return what each method costs, and its LOO r on the same inputs."""
    if card.plane is None:
        return Grid([], [])
    rows = []
    for point in card.plane.points:
        interval = "" if point.interval is None else f" [{point.interval[0]:.2f}, {point.interval[1]:.2f}]"
        rows.append((point.method, [Cell(f"{point.passes:.1f}"), Cell(f"{point.r:.2f}{interval}")]))
    return Grid(["method", "passes", "LOO r"], rows)


def as_text(grid: Grid) -> tuple[list[str], Iterator[list[str]]]:
    """Return header and rows of plain text, with the difference after its number."""
    lines = (
        [name, *(f"{cell.text}; {cell.below}" if cell.below else cell.text for cell in cells)]
        for name, cells in grid.rows
    )
    return grid.header, lines
