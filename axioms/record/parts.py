"""Numbers, places and comparisons: what the records of checks are made of."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

Numbers = TypeAliasType("Numbers", "Annotated[float | list[Numbers] | None, Field(union_mode='left_to_right')]")
"""A number, or lists of them of any depth."""
Interval = tuple[float, float]
VerdictName = Literal["holds", "violated", "inconclusive", "recorded", "refused"]


class Part(BaseModel):
    """Part of a record: it cannot be changed, and no unknown key is read over."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings", defer_build=True)


class Place(Part):
    """Where a spec states something."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Quantity(Part):
    """A measured number or list, over how many examples, and the interval of a mean."""

    value: Numbers
    n: int
    interval: Interval | None = None

    def __str__(self) -> str:
        value = f"{self.value:.4g}" if isinstance(self.value, float) else "a list"
        return value if self.interval is None else f"{value} [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"

    @property
    def number(self) -> float | None:
        """The value where it is one finite number, else None."""
        return self.value if isinstance(self.value, float) and math.isfinite(self.value) else None


class Tolerance(Part):
    """How far a metric may move from a baseline: by the larger of `abs` and `rel` times what it was."""

    abs: float
    rel: float


class Metric(Quantity):
    """A metric that the spec asks for, which the baseline gate compares."""

    tolerance: Tolerance | None = None
    """None where it may be anything, as a time may."""


class Decision(Quantity):
    """A bound that decided the verdict, and what was measured against it."""

    metric: str
    bound: str
    place: Place
    verdict: VerdictName


class Curve(Part):
    """The mean of one curve per example, over shares of features or over layers."""

    mean: list[float]
    n: int
    intervals: list[Interval | None] | None = None
    """Of each point; None where no table or figure shows them."""


class Comparison(Part):
    """The paired test of one method against another on one metric."""

    difference: Numbers
    interval: Interval | None
    n: int
    p: float
    p_holm: float
    hypotheses: int
    """Over how many comparisons Holm's correction was made."""
    d_z: float | None
    wins: float

    @property
    def quantity(self) -> Quantity:
        """The mean difference with its interval."""
        return Quantity(value=self.difference, n=self.n, interval=self.interval)


class TablePlace(Part):
    """The table of a paper that a check feeds, and the heading of its rows there."""

    name: str
    block: str = ""
