"""How a table of a paper is laid out: which metric stands where. Plain values; nothing is imported for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """One column of numbers."""

    title: str
    metric: str
    """Axiom and full metric: `loo_correlation.pearson.mean`. In a table of layers `{}` stands for the mode."""
    digits: int = 2
    better: Literal["higher", "lower"] | None = None
    """Which way is better, where the paper marks first and second place."""
    interval: bool = False
    """Whether the interval is shown (the CSV always has it)."""
    is_extra: bool = False
    """Not the paper's: shown where a run has numbers for it."""
    unranked: tuple[str, ...] = ()
    """Methods that take no place: leave-one-out's correlation with itself."""

    @property
    def heading(self) -> str:
        """The title, with an arrow that says which way is better."""
        return self.title + {"higher": " ↑", "lower": " ↓", None: ""}[self.better]


@dataclass(frozen=True)
class MethodLayout:
    """Methods down, metrics across; a block of rows for each spec."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    corner: str = "Method"
    """What stands above the names of the methods."""
    variants: str | None = None
    """The heading above the LRP variants, where the paper has one."""
    note: str = ""
    """What a reader must know of its cells."""

    def metrics(self, axiom: str) -> list[str]:
        """The metrics of an axiom that the table shows."""
        return _of_axiom(axiom, [column.metric for column in self.columns])

    def curves(self, axiom: str) -> list[str]:
        """The curves of an axiom that the table shows: none."""
        return []


@dataclass(frozen=True)
class Mode:
    """One way to choose the layers of a setting."""

    metric: str
    """As the sweep's curves call it: their entry k (from 1) is the setting that `label` names with k."""
    title: str
    heading: str
    label: str
    descending: bool = False
    """Whether the paper lists the last layer first."""


@dataclass(frozen=True)
class LayerFigure:
    """The figure of a table of layers: a row of panels for each column that has a baseline."""

    name: str
    """Of its file."""
    caption: str
    alternative: str
    """What it shows, for a reader who cannot see it."""
    axes: Mapping[str, str]
    """What the vertical axis of a column is called, by the column's title."""
    baseline: str
    """What the line of the baseline is called."""


@dataclass(frozen=True)
class LayerLayout:
    """Layers down, modes across with their metrics side by side; a block of rows for each spec."""

    title: str
    caption: str
    modes: tuple[Mode, ...]
    columns: tuple[Column, ...]
    baselines: Mapping[str, tuple[str, ...]]
    """By a column's title, the metrics that may hold the method without any setting."""
    figure: LayerFigure

    def metrics(self, axiom: str) -> list[str]:
        """The metrics of an axiom that the figure shows as a baseline."""
        return _of_axiom(axiom, [metric for metrics in self.baselines.values() for metric in metrics])

    def curves(self, axiom: str) -> list[str]:
        """The curves over layers of an axiom that the table and the figure show, with intervals."""
        return _of_axiom(axiom, [column.metric.format(mode.metric) for mode in self.modes for column in self.columns])


Layout = MethodLayout | LayerLayout


def _of_axiom(axiom: str, metrics: list[str]) -> list[str]:
    return [metric.removeprefix(f"{axiom}.") for metric in metrics if metric.startswith(f"{axiom}.")]
