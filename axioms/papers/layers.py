"""The numbers of a sweep over layers, ours and the paper's: a block of a table, and the panels of its figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from axioms.papers.grid import Number
from axioms.papers.layouts import Column, LayerLayout, Mode

if TYPE_CHECKING:
    from axioms.record import CheckRecord, Interval

Key = tuple[str, str]
"""Mode and title of the column: ("single", "LOO r")."""
Series = Mapping[Key, Sequence[float]]
"""A value for each layer, the first one first."""


@dataclass(frozen=True)
class LayerBlock:
    """One sweep: ours, the paper's, or both where the two models have equal depth."""

    title: str
    layers: int
    n: int | None = None
    ours: Series = field(default_factory=dict)
    paper: Series = field(default_factory=dict)
    intervals: Mapping[Key, Sequence[Interval | None]] = field(default_factory=dict)
    """Of ours, where the record has them."""
    baseline: Mapping[str, float] = field(default_factory=dict)
    """The method without any setting, by title of the column: ours, or the paper's in a block of its own."""

    @property
    def heading(self) -> str:
        """The title, with the number of examples."""
        return self.title if self.n is None else f"{self.title} (n = {self.n})"

    def has(self, title: str) -> bool:
        """Whether any mode has numbers for this column."""
        return any(key[1] == title for key in (*self.ours, *self.paper))

    def number(self, mode: str, column: Column, layer: int) -> Number:
        """The cell of a layer (from 1)."""
        key = (mode, column.title)
        ours, paper, intervals = self.ours.get(key), self.paper.get(key), self.intervals.get(key)
        return Number(
            ours=ours[layer - 1] if ours and math.isfinite(ours[layer - 1]) else None,
            interval=intervals[layer - 1] if intervals else None,
            n=self.n,
            paper=paper[layer - 1] if paper else None,
            digits=column.digits,
        )


def layer_of_row(mode: Mode, row: int, layers: int) -> int:
    """The layer that a row of the table is about."""
    return layers + 1 - row if mode.descending else row


def layer_blocks(layout: LayerLayout, specs: Mapping[str, Sequence[CheckRecord]]) -> list[LayerBlock]:
    """A block for each sweep; the paper's numbers get one of their own where its model has another depth."""
    axioms = {column.metric.partition(".")[0] for column in layout.columns}
    blocks = []
    for heading, checks in specs.items():
        methods = list(dict.fromkeys(check.method for check in checks if check.axiom in axioms))
        for method in methods:
            title = heading if len(methods) == 1 else f"{heading}, {method}"
            blocks += _blocks(title, layout, [check for check in checks if check.method == method])
    return blocks


def _blocks(title: str, layout: LayerLayout, checks: Sequence[CheckRecord]) -> list[LayerBlock]:
    measured: dict[str, Any] = {}
    reported: dict[str, Any] = {}
    intervals: dict[str, Any] = {}
    for check in checks:
        for name, curve in check.curves.items():
            measured[f"{check.axiom}.{name}"] = curve.mean
            intervals[f"{check.axiom}.{name}"] = curve.intervals
        for name, quantity in (*check.extra_metrics.items(), *check.metrics.items()):
            measured[f"{check.axiom}.{name}"] = quantity.value
        reported |= {f"{check.axiom}.{name}": value for name, value in check.reported.items()}
    ours, paper = _series(layout, measured), _series(layout, reported)
    if not ours:
        return []
    n = max((len(values) for check in checks for values in check.values.values()), default=None)
    known = {key: ends for key, ends in _by_key(layout, intervals).items() if ends}
    block = LayerBlock(title, _depth(ours), n, ours, {}, known, _baselines(layout, measured))
    if not paper:
        return [block]
    depth = _depth(paper)
    if depth == block.layers:
        return [replace(block, paper=paper)]
    return [block, LayerBlock(f"Paper ({depth} layers)", depth, paper=paper, baseline=_baselines(layout, reported))]


def _by_key(layout: LayerLayout, named: Mapping[str, Any]) -> dict[Key, Any]:
    """What stands under the names of the layout's curves, by mode and column."""
    keys = {
        (mode.metric, column.title): column.metric.format(mode.metric)
        for mode in layout.modes
        for column in layout.columns
    }
    return {key: named.get(name) for key, name in keys.items()}


def _series(layout: LayerLayout, numbers: Mapping[str, Any]) -> Series:
    curves = {key: value for key, value in _by_key(layout, numbers).items() if isinstance(value, list)}
    # Curves of different lengths are not of one model: nothing could be put side by side.
    return curves if len({len(curve) for curve in curves.values()}) == 1 else {}


def _depth(series: Series) -> int:
    return len(next(iter(series.values())))


def _baselines(layout: LayerLayout, numbers: Mapping[str, Any]) -> dict[str, float]:
    known = {
        title: [numbers[name] for name in names if numbers.get(name) is not None]
        for title, names in layout.baselines.items()
    }
    return {title: values[0] for title, values in known.items() if values}
