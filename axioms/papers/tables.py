"""A run to the papers' tables, by their layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.papers.grid import Block, Cell, Grid, Number
from axioms.papers.layers import LayerBlock, layer_blocks, layer_of_row
from axioms.papers.layouts import Column, LayerLayout, MethodLayout
from axioms.papers.paper import PAPERS, Paper

if TYPE_CHECKING:
    from axioms.record import CheckRecord, RunRecord

FIRST, SECOND = 1, 2


def every_table(run: RunRecord) -> list[Grid]:
    """Every table of every paper that the run feeds."""
    return [grid for paper in PAPERS.values() for grid in paper_tables(paper, run)]


def paper_tables(paper: Paper, run: RunRecord) -> list[Grid]:
    """The tables of one paper that the run feeds, in the paper's order."""
    grids = []
    for name, layout in paper.tables.items():
        specs = feeding(run.checks, name)
        if specs:
            make = _method_table if isinstance(layout, MethodLayout) else _layer_table
            grid = make(paper, name, layout, specs)  # type: ignore[arg-type]
            grids += [grid] if grid.blocks else []
    return [*grids, *(paper.make_tables(run) if paper.make_tables else ())]


def feeding(checks: Sequence[CheckRecord], name: str) -> dict[str, list[CheckRecord]]:
    """The checks that feed a table, by the heading of their block; equal headings get the name of their spec."""
    by_part: dict[tuple[str, str], list[CheckRecord]] = {}
    for check in checks:
        if check.table is not None and check.table.name == name and check.than is None:
            by_part.setdefault((check.part, check.table.block), []).append(check)
    headings = [heading for _, heading in by_part]
    return {
        heading if headings.count(heading) == 1 else f"{heading} ({part})".strip(): fed
        for (part, heading), fed in by_part.items()
    }


def _method_table(paper: Paper, name: str, layout: MethodLayout, specs: Mapping[str, list[CheckRecord]]) -> Grid:
    layout = replace(layout, columns=tuple(column for column in layout.columns if _is_shown(column, specs)))
    blocks = []
    for heading, checks in specs.items():
        methods = dict.fromkeys(check.method for check in checks if check.method is not None)
        rows = {method: [_number(checks, method, column) for column in layout.columns] for method in methods}
        blocks.append(_method_block(paper, heading, layout, rows))
    header = [layout.corner, *(column.heading for column in layout.columns)]
    blocks = [block for block in blocks if block.rows]
    return Grid(name, layout.title, layout.caption, [], header, blocks, note=layout.note, paper=paper.title)


def _is_shown(column: Column, specs: Mapping[str, list[CheckRecord]]) -> bool:
    """Tell whether a column is the paper's, or has a number of ours."""
    axiom, _, metric = column.metric.partition(".")
    checks = (check for checks in specs.values() for check in checks)
    return not column.is_extra or any(check.axiom == axiom and check.quantity(metric) is not None for check in checks)


def _method_block(paper: Paper, heading: str, layout: MethodLayout, rows: Mapping[str, list[Number]]) -> Block:
    """Rows in the paper's order; where it has a heading for them, the LRP variants come last and under it."""
    present = {method: row for method, row in rows.items() if any(cell.ours is not None for cell in row)}
    ranked = _with_places(present, layout.columns)
    known = list(paper.methods)
    order = sorted(present, key=lambda method: known.index(method) if method in known else len(known))
    variants = [method for method in order if layout.variants and "lrp" in method]
    order = [method for method in order if method not in variants] + variants
    sections = {len(order) - len(variants): layout.variants} if layout.variants and variants else {}
    counts = {cell.n for row in present.values() for cell in row if cell.n is not None}
    n = f"n = {max(counts)}" if counts else ""
    title = f"{heading} ({n})" if heading and n else heading or n
    return Block(title, [[paper.methods.get(method, method), *ranked[method]] for method in order], sections)


def _number(checks: Sequence[CheckRecord], method: str, column: Column) -> Number:
    axiom, _, metric = column.metric.partition(".")
    for check in checks:
        quantity = check.quantity(metric) if (check.axiom, check.method) == (axiom, method) else None
        if quantity is not None and quantity.number is not None:
            paper = check.reported.get(metric)
            printed = None if isinstance(paper, list) else paper
            return Number(quantity.number, quantity.interval, quantity.n, printed, column.digits, column.interval)
    return Number(digits=column.digits)


def _with_places(rows: Mapping[str, list[Number]], columns: Sequence[Column]) -> dict[str, list[Number]]:
    """The rows with first and second place in each column that has a better direction.

    A place is marked only where the intervals support it: that of whoever has it overlaps none that comes after.
    """
    placed = {method: list(row) for method, row in rows.items()}
    for at, column in enumerate(columns):
        sign = {"higher": -1.0, "lower": 1.0, None: 0.0}[column.better]
        rivals = [method for method, row in rows.items() if method not in column.unranked and row[at].ours is not None]
        if sign and len(rivals) > 2:
            for method, place in _places({method: rows[method][at] for method in rivals}, sign).items():
                placed[method][at] = replace(placed[method][at], place=place)
    return placed


def _places(numbers: Mapping[str, Number], sign: float) -> dict[str, int]:
    """First and second place where less is better after multiplying by the sign; equal numbers share a place."""
    keys = {method: sign * (number.ours or 0.0) for method, number in numbers.items()}
    ends = {method: _ends(number, sign) for method, number in numbers.items()}
    places: dict[str, int] = {}
    for method in sorted(numbers, key=lambda method: keys[method]):
        place = FIRST + sum(other < keys[method] for other in keys.values())
        behind = [other for other in numbers if keys[other] > keys[method]]
        if place > SECOND or not all(ends[method][1] < ends[other][0] for other in behind):
            break  # without a clear first there is no second
        places[method] = place
    return places


def _ends(number: Number, sign: float) -> tuple[float, float]:
    """The better and the worse end of a number's interval, so that less is better; both are the number without one."""
    ours = number.ours or 0.0
    low, high = sorted(sign * end for end in number.interval or (ours, ours))
    return low, high


def _layer_table(paper: Paper, name: str, layout: LayerLayout, specs: Mapping[str, list[CheckRecord]]) -> Grid:
    sweeps = layer_blocks(layout, specs)
    columns = [column for column in layout.columns if any(sweep.has(column.title) for sweep in sweeps)]
    header = [text for mode in layout.modes for text in (mode.heading, *(column.heading for column in columns))]
    groups = [(mode.title, 1 + len(columns)) for mode in layout.modes]
    blocks = [_layer_block(layout, columns, sweep) for sweep in sweeps]
    return Grid(name, layout.title, layout.caption, groups, header, blocks, paper=paper.title)


def _layer_block(layout: LayerLayout, columns: Sequence[Column], sweep: LayerBlock) -> Block:
    rows = []
    for number in range(1, sweep.layers + 1):
        row: list[Cell] = []
        for mode in layout.modes:
            layer = layer_of_row(mode, number, sweep.layers)
            row.append(mode.label.format(layer))
            row += [sweep.number(mode.metric, column, layer) for column in columns]
        rows.append(row)
    return Block(sweep.heading.strip(), rows, {})
