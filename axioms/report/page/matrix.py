"""Methods x axioms: a row for each method, its aliases folded under it, and in each cell how many and their range."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from axioms.record import CheckRecord
from axioms.report.page.outcomes import AnyCheck, counts_of, in_words
from axioms.report.text import compact, unit_of

FOREMOST = ("implementation_invariance", "conservation", "loo_correlation", "perturbation", "ground_truth")
"""Axioms that the papers are about, which come first in the matrix."""


@dataclass(frozen=True)
class Place:
    """One cell: the outcomes of the checks of one method on one axiom, and the range of their numbers."""

    axiom: str
    counts: dict[str, int] = field(default_factory=dict)
    specs: int = 0
    """How many specs, or subjects of them, it stands for."""
    metric: str = ""
    """The metric that most of its checks measured."""
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    """Numbers of that metric."""

    @property
    def kind(self) -> str:
        """The most telling outcome."""
        return next(iter(self.counts), "")

    @property
    def total(self) -> int:
        """All checks of the cell."""
        return sum(self.counts.values())

    @property
    def range_text(self) -> str:
        """`r 0.22…0.71`, or the one number; empty where no number was measured."""
        if not self.n:
            return ""
        ends = list(dict.fromkeys((compact(self.low), compact(self.high))))
        return f"{unit_of(self.metric)} {'…'.join(ends)}"

    @property
    def words(self) -> str:
        """The cell as a sentence, for a reader who hears it or points at it."""
        if not self.counts:
            return "not checked"
        where = "1 spec" if self.specs == 1 else f"{self.specs} specs or subjects"
        said = f"{in_words(self.counts)}; in {where}"
        if not self.n:
            return said
        ends = compact(self.low) if self.low == self.high else f"from {compact(self.low)} to {compact(self.high)}"
        return f"{said}; {self.metric} {ends} in {self.n} {'number' if self.n == 1 else 'numbers'}"


@dataclass(frozen=True)
class MatrixRow:
    """A method, with everything that was checked of it under any label; and its aliases, each by itself."""

    method: str
    places: list[Place]
    aliases: list[tuple[str, list[Place]]]


def matrix_of(checks: Iterable[AnyCheck]) -> tuple[list[str], list[MatrixRow]]:
    """Return the axioms, and a row for each method."""
    single = [check for check in checks if check.than is None and check.method is not None]
    axioms = list(dict.fromkeys(check.axiom for check in single))
    axioms.sort(key=lambda axiom: FOREMOST.index(axiom) if axiom in FOREMOST else len(FOREMOST))
    by_method: dict[str, dict[str, list[AnyCheck]]] = {}
    for check in single:
        label = str(check.method)
        by_method.setdefault(check.method_name or label, {}).setdefault(label, []).append(check)
    return axioms, [
        MatrixRow(
            method,
            _places([check for checks in by_label.values() for check in checks], axioms),
            [(label, _places(checks, axioms)) for label, checks in by_label.items()]
            if list(by_label) != [method]
            else [],
        )
        for method, by_label in by_method.items()
    ]


def _places(checks: Sequence[AnyCheck], axioms: Sequence[str]) -> list[Place]:
    return [place_of(axiom, [check for check in checks if check.axiom == axiom]) for axiom in axioms]


def place_of(axiom: str, checks: Sequence[AnyCheck]) -> Place:
    """Return the cell that stands for these checks: their range is that of the metric that stands for most of them."""
    measured = [check for check in checks if isinstance(check, CheckRecord)]
    foremost = Counter(name for check in measured for name in _foremost(check))
    counts, specs = counts_of(checks), len({check.part for check in checks})
    if not foremost:
        return Place(axiom, counts, specs)
    metric = foremost.most_common(1)[0][0]
    numbers = [number for check in measured for number in _numbers(check, metric)]
    if not numbers:
        return Place(axiom, counts, specs)
    return Place(axiom, counts, specs, metric, min(numbers), max(numbers), len(numbers))


def _foremost(check: CheckRecord) -> list[str]:
    """Return the metrics that stand for a check: those that decided it, or the first that it records."""
    names = [bound.metric for bound in check.bounds] or list(check.metrics)[:1]
    return list(dict.fromkeys(map(_without_side, names)))


def _numbers(check: CheckRecord, metric: str) -> list[float]:
    """Return the finite numbers of a metric, of both sides of a pair."""
    quantities = {**check.metrics, **{bound.metric: bound for bound in check.bounds}}
    values = [quantity.number for name, quantity in quantities.items() if _without_side(name) == metric]
    return [value for value in values if value is not None]


def _without_side(metric: str) -> str:
    return metric.removeprefix("left.").removeprefix("right.")
