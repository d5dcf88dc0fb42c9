"""Methods side by side on one subject: means with intervals, and the paired difference to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from axioms.commands.card.measure import Measured
from axioms.record import CheckRecord
from axioms.verdict.measure import bootstrap_interval

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over examples and its 95% interval."""

    mean: float
    interval: tuple[float, float] | None

    def text(self, sign: str = "") -> str:
        """Return `0.65 [0.57, 0.71]`; `sign` is `+` for a difference."""
        mean = _signed(self.mean) if sign else f"{self.mean:.2f}"
        return mean if self.interval is None else f"{mean} [{self.interval[0]:.2f}, {self.interval[1]:.2f}]"

    @property
    def direction(self) -> str:
        """`higher` or `lower` where the interval excludes zero, else nothing."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return ""
        return "higher" if self.mean > 0 else "lower"


def _signed(number: float) -> str:
    """Return two decimals with a sign, none where they are zero."""
    text = f"{number:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


@dataclass(frozen=True)
class Cell:
    """A method's estimate of one metric, and the card's method minus it; None where it was not measured."""

    estimate: Estimate | None
    difference: Estimate | None = None


@dataclass(frozen=True)
class Row:
    """A method with its cells, one for each metric."""

    method: str
    options: str
    """Those that the spec gives it, in words."""
    is_own: bool
    """Whether it is the method that the card is about."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Column:
    """A metric of an axiom in a spec."""

    title: str
    spec: str
    axiom: str
    metric: str
    """With the side of a pair before it: `left.pearson`."""


@dataclass(frozen=True)
class Table:
    """All methods on one subject."""

    key: str
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    is_random: bool = False
    """Whether the model has random weights, so that its numbers explain nothing."""

    def own_estimate(self, title: str) -> Estimate | None:
        """Return the estimate of the card's method in the column of this title; None where it was not measured."""
        own = next((row for row in self.rows if row.is_own), None)
        titles = [column.title for column in self.columns]
        return own.cells[titles.index(title)].estimate if own is not None and title in titles else None


def table(
    measured: Measured,
    key: str,
    title: str,
    about: str,
    columns: Sequence[Column],
    label: str = "",
    is_random: bool = False,
) -> Table:
    """Return a table of the methods that have a number in it; `label` is the subject's, where a spec has several."""
    own = [_values(measured, measured.method, column, label) for column in columns]
    rows = []
    for method in (measured.method, *measured.against):
        every = [_values(measured, method, column, label) for column in columns]
        if any(values is not None for values in every):
            cells = [_cell(mine, values, method == measured.method) for mine, values in zip(own, every, strict=True)]
            options = _options(measured, method, columns)
            rows.append(Row(method, options, method == measured.method, tuple(cells)))
    known = [at for at in range(len(columns)) if any(row.cells[at].estimate is not None for row in rows)]
    shown = [Row(row.method, row.options, row.is_own, tuple(row.cells[at] for at in known)) for row in rows]
    return Table(key, title, about, tuple(columns[at] for at in known), tuple(shown), is_random)


def estimate(values: np.ndarray) -> Estimate | None:
    """Return the mean of the finite values with its interval; None where there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    return Estimate(float(finite.mean()), _interval(finite.tobytes()))


@cache
def _interval(numbers: bytes) -> tuple[float, float] | None:
    """Return the interval of a mean of these numbers, drawn once: a card is written whenever a part of it is done."""
    return bootstrap_interval(np.frombuffer(numbers), confidence=CONFIDENCE, seed=0)


def _cell(mine: np.ndarray | None, values: np.ndarray | None, is_own: bool) -> Cell:
    if values is None:
        return Cell(None)
    if is_own or mine is None or mine.shape != values.shape:
        return Cell(estimate(values))
    return Cell(estimate(values), estimate(mine - values))


def _check(measured: Measured, method: str, column: Column, label: str) -> CheckRecord | None:
    """Return the check that has the column's metric of each example."""
    checks = measured.of(method, column.axiom, column.spec)
    fitting = (check for check in checks if column.metric in check.values and (check.label or "") == label)
    return next(fitting, None)


def _values(measured: Measured, method: str, column: Column, label: str) -> np.ndarray | None:
    """Return the value of each example, NaN where it is not defined; None where the method was not measured."""
    check = _check(measured, method, column, label)
    if check is None:
        return None
    return np.array([np.nan if number is None else number for number in check.values[column.metric]], dtype=float)


def _options(measured: Measured, method: str, columns: Sequence[Column]) -> str:
    """Return the options that a method was measured with, as far as they were stated."""
    stated = [check.options for column in columns for check in measured.of(method, column.axiom, column.spec)]
    return ", ".join(f"{name} {value}" for name, value in (stated[0] if stated else {}).items())
