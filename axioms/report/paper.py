"""Records to the paper's tables, from what results.json holds and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from axioms.papers.layouts import LAYOUTS, METHOD_NAMES, PAPER, Column, LayerLayout, MethodLayout
from axioms.report.grid import Block, Cell, Grid, Number
from axioms.report.series import LayerBlock, layer_blocks, position

Record = dict[str, Any]
ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}


def paper_tables(records: Sequence[Record]) -> list[Grid]:
    """Every table that some spec of the run feeds, in the paper's order."""
    grids = []
    for name, layout in LAYOUTS.items():
        specs = feeding(records, name)
        if specs:
            made = _methods(name, layout, specs) if isinstance(layout, MethodLayout) else _layers(name, layout, specs)
            grids += [made] if made.blocks else []
    return grids


def feeding(records: Sequence[Record], name: str) -> dict[str, list[Record]]:
    """The records that feed a table, by the heading of their block; equal headings get the name of their spec."""
    by_spec: dict[str, list[Record]] = {}
    for record in records:
        if record["table"] is not None and record["table"]["name"] == name and record["than"] is None:
            by_spec.setdefault(record["spec"], []).append(record)
    headings = [mine[0]["table"]["block"] for mine in by_spec.values()]
    return {
        heading if headings.count(heading) == 1 else f"{heading} ({spec})".strip(): mine
        for heading, (spec, mine) in zip(headings, by_spec.items(), strict=True)
    }


def _methods(name: str, layout: MethodLayout, specs: dict[str, list[Record]]) -> Grid:
    numbers = {
        heading: {
            method: [_number(mine, method, column) for column in layout.columns]
            for method in dict.fromkeys(record["method"] for record in mine if record["method"] is not None)
        }
        for heading, mine in specs.items()
    }
    blocks = [_method_block(heading, layout, rows) for heading, rows in numbers.items()]
    header = [layout.corner, *(f"{column.title}{ARROWS[column.better]}" for column in layout.columns)]
    blocks = [block for block in blocks if block.rows]
    return Grid(name, layout.title, layout.caption, [], header, blocks, note=layout.note, paper=PAPER)


def _method_block(heading: str, layout: MethodLayout, rows: dict[str, list[Number]]) -> Block:
    """The paper's order; where it has a heading for them, the LRP variants come last and under it."""
    present = {method: row for method, row in rows.items() if any(cell.ours is not None for cell in row)}
    ranked = _with_places(present, layout.columns)
    known = list(METHOD_NAMES)
    order = sorted(present, key=lambda method: known.index(method) if method in known else len(known))
    variants = [method for method in order if layout.variants and "lrp" in method]
    order = [method for method in order if method not in variants] + variants
    sections = {len(order) - len(variants): layout.variants} if layout.variants and variants else {}
    counts = {cell.n for row in present.values() for cell in row if cell.n is not None}
    n = f"n = {max(counts)}" if counts else ""
    title = f"{heading} ({n})" if heading and n else heading or n
    return Block(title, [[METHOD_NAMES.get(method, method), *ranked[method]] for method in order], sections)


def _number(records: Sequence[Record], method: str, column: Column) -> Number:
    axiom, _, metric = column.metric.partition(".")
    for record in records:
        if record["axiom"] != axiom or record["method"] != method:
            continue
        found = quantity(record, metric)
        if found is not None and found["value"] is not None:
            interval = None if found["interval"] is None else (found["interval"][0], found["interval"][1])
            paper = record["reported"].get(metric)
            return Number(found["value"], interval, found["n"], paper, column.digits, column.interval)
    return Number(digits=column.digits)


def quantity(record: Record, metric: str) -> dict[str, Any] | None:
    """A metric that the spec asked for, or the same computed from the single values that every record keeps."""
    if metric in record["metrics"]:
        found: dict[str, Any] = record["metrics"][metric]
        return found
    name, _, aggregate = metric.rpartition(".")
    values = record["values"].get(name)
    if not values or any(value is None for value in values):
        return None
    import numpy as np

    from axioms.verdict.measure import aggregated

    made = aggregated(np.asarray(values), aggregate, confidence=record["run"]["confidence"], seed=record["run"]["seed"])
    return {"value": made.value, "n": made.n, "interval": made.interval}


def _with_places(rows: dict[str, list[Number]], columns: Sequence[Column]) -> dict[str, list[Number]]:
    """First and second place in each column that has a better direction."""
    placed = {method: list(row) for method, row in rows.items()}
    for at, column in enumerate(columns):
        sign = {"higher": -1.0, "lower": 1.0, None: 0.0}[column.better]
        rivals = [method for method, row in rows.items() if method not in column.unranked and row[at].ours is not None]
        if sign and len(rivals) > 2:
            keys = {method: sign * (rows[method][at].ours or 0.0) for method in rivals}
            for method in rivals:
                place = 1 + sum(other < keys[method] for other in keys.values())
                placed[method][at] = replace(placed[method][at], place=place if place <= 2 else 0)
    return placed


def _layers(name: str, layout: LayerLayout, specs: dict[str, list[Record]]) -> Grid:
    made = layer_blocks(layout, specs)
    columns = [column for column in layout.columns if any(block.has(column.title) for block in made)]
    header = [
        heading
        for mode in layout.modes
        for heading in (mode.heading, *(f"{column.title}{ARROWS[column.better]}" for column in columns))
    ]
    groups = [(mode.title, 1 + len(columns)) for mode in layout.modes]
    blocks = [_layer_block(layout, columns, block) for block in made]
    return Grid(name, layout.title, layout.caption, groups, header, blocks, paper=PAPER)


def _layer_block(layout: LayerLayout, columns: Sequence[Column], block: LayerBlock) -> Block:
    rows = []
    for number in range(1, block.layers + 1):
        row: list[Cell] = []
        for mode in layout.modes:
            layer = position(mode, number, block.layers)
            row.append(mode.label.format(layer))
            for column in columns:
                key = (mode.metric, column.title)
                ours, paper, intervals = block.ours.get(key), block.paper.get(key), block.intervals.get(key)
                row.append(
                    Number(
                        ours=ours[layer - 1] if ours else None,
                        interval=intervals[layer - 1] if intervals else None,
                        n=block.n,
                        paper=paper[layer - 1] if paper else None,
                        digits=column.digits,
                    )
                )
        rows.append(row)
    title = block.title if block.n is None else f"{block.title} (n = {block.n})".strip()
    return Block(title, rows, {})
