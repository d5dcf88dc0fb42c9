"""The numbers of a sweep over layers, ours and the paper's, for Table A3 and Figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from axioms.papers.layouts import LayerLayout, Mode

Record = dict[str, Any]
Series = dict[tuple[str, str], list[float | None]]
"""By mode and title of the column, ("single", "LOO r"): a value for each layer, the first one first."""
Intervals = dict[tuple[str, str], list[tuple[float, float] | None]]


@dataclass(frozen=True)
class LayerBlock:
    """One sweep: ours, the paper's, or both where the two models have equal depth."""

    title: str
    layers: int
    n: int | None = None
    ours: Series = field(default_factory=dict)
    paper: Series = field(default_factory=dict)
    intervals: Intervals = field(default_factory=dict)
    """Of ours, where the record keeps the values of each example."""
    baseline: dict[str, float] = field(default_factory=dict)
    """The method without any bypass, by title of the column: ours, or the paper's in a block of its own."""

    def has(self, title: str) -> bool:
        """Whether any mode has numbers for this column."""
        return any(key[1] == title for key in (*self.ours, *self.paper))


def position(mode: Mode, row: int, layers: int) -> int:
    """The layer that a row of the table is about."""
    return layers + 1 - row if mode.descending else row


def layer_blocks(layout: LayerLayout, specs: dict[str, list[Record]]) -> list[LayerBlock]:
    """A block for each sweep; the paper's numbers get one of their own where its model has another depth."""
    axioms = {column.metric.partition(".")[0] for column in layout.columns}
    blocks = []
    for heading, records in specs.items():
        methods = list(dict.fromkeys(record["method"] for record in records if record["axiom"] in axioms))
        for method in methods:
            title = heading if len(methods) == 1 else f"{heading}, {method}"
            blocks += _blocks(title, layout, [record for record in records if record["method"] == method])
    return blocks


def _blocks(title: str, layout: LayerLayout, records: Sequence[Record]) -> list[LayerBlock]:
    measured: dict[str, Any] = {}
    reported: dict[str, Any] = {}
    for record in records:
        for name, values in record["values"].items():
            layered = bool(values) and isinstance(values[0], list)
            full = f"{record['axiom']}.{name}"
            measured |= {full: [_mean(each) for each in zip(*values, strict=True)]} if layered else {}
            measured |= {} if layered else {f"{full}.mean": _mean(values)}
        measured |= {f"{record['axiom']}.{name}": each["value"] for name, each in record["metrics"].items()}
        reported |= {f"{record['axiom']}.{name}": number for name, number in record["reported"].items()}
    ours, paper = _series(layout, measured), _series(layout, reported)
    if not ours:
        return []
    n = max((len(values) for record in records for values in record["values"].values()), default=None)
    intervals = _intervals(layout, records)
    block = LayerBlock(title, _depth(ours), n, ours, {}, intervals, _baselines(layout, measured))
    if not paper:
        return [block]
    depth = _depth(paper)
    if depth == block.layers:
        return [replace(block, paper=paper)]
    return [block, LayerBlock(f"Paper ({depth} layers)", depth, paper=paper, baseline=_baselines(layout, reported))]


def _series(layout: LayerLayout, numbers: dict[str, Any]) -> Series:
    found = {
        (mode.metric, column.title): numbers.get(column.metric.format(mode.metric))
        for mode in layout.modes
        for column in layout.columns
    }
    vectors = {key: value for key, value in found.items() if isinstance(value, list)}
    # Vectors of different lengths are not of one model: nothing could be put side by side.
    return vectors if len({len(vector) for vector in vectors.values()}) == 1 else {}


def _depth(series: Series) -> int:
    return len(next(iter(series.values())))


def _baselines(layout: LayerLayout, numbers: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for title, names in layout.baselines.items():
        known = [numbers[name] for name in names if numbers.get(name) is not None]
        found |= {title: known[0]} if known else {}
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    """Of the examples for which there is a number; None of none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _intervals(layout: LayerLayout, records: Sequence[Record]) -> Intervals:
    """Bootstrap intervals of each layer's mean, from examples x layers."""
    found: Intervals = {}
    for record in records:
        for mode in layout.modes:
            for column in layout.columns:
                axiom, _, name = column.metric.format(mode.metric).partition(".")
                rows = record["values"].get(name) if record["axiom"] == axiom else None
                if rows and isinstance(rows[0], list):
                    found[mode.metric, column.title] = [
                        _interval(each, record["run"]) for each in zip(*rows, strict=True)
                    ]
    return found


def _interval(values: Sequence[float | None], run: dict[str, Any]) -> tuple[float, float] | None:
    import numpy as np

    from axioms.verdict.measure import bootstrap_interval

    known = np.array([value for value in values if value is not None])
    return bootstrap_interval(known, confidence=run["confidence"], seed=run["seed"])
