"""Numbers with intervals: the mean, maximum, minimum or median of per-example values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axioms.core.lazy import np
from axioms.core.values import Numbers, Values

RESAMPLES = 4000


@dataclass(frozen=True)
class Quantity:
    """A measured number (or list), over how many examples, and the interval of a mean."""

    value: float | list[Any]
    n: int
    interval: tuple[float, float] | None = None
    worst: int | None = None
    """The example that decided a maximum or minimum, or that lies lowest under a mean."""

    @property
    def finite(self) -> bool:
        """Whether every number in it is finite."""
        return bool(np.isfinite(np.asarray(self.value, dtype=np.float64)).all())


@dataclass(frozen=True)
class Measurement:
    """Everything that one axiom measured for one method."""

    values: Mapping[str, Values]
    """By full name without the aggregate, for example `left.pearson`: n values; 0-d for scalars; any for vectors;
    n x grid for curves, which may be layers. Values of examples for which a metric is not defined are masked."""
    kinds: Mapping[str, str]
    confidence: float
    seed: int
    notes: tuple[str, ...] = ()
    """Sentences about how it was computed, such as why leave-one-out could not reuse what removals share."""

    def quantity(self, name: str) -> Quantity:
        """Return `left.pearson.mean`, or a scalar, vector or curve by its name."""
        if name in self.values:
            values = self.values[name]
            if self.kinds[name] == "scalar":
                return Quantity(float(values), 1)
            if self.kinds[name] == "curve":
                curves = values[defined(values[:, 0])] if values.size else values
                return Quantity(curves.mean(axis=0).tolist() if len(curves) else math.nan, len(curves))
            return Quantity(values.tolist(), len(values))
        metric, _, aggregate = name.rpartition(".")
        return aggregated(self.values[metric], aggregate, confidence=self.confidence, seed=self.seed)


def defined(values: Values) -> Numbers:
    """Return the numbers of the examples for which a metric is defined: those that are not masked."""
    return np.flatnonzero(~np.ma.getmaskarray(values))


def aggregated(values: Values, aggregate: str, *, confidence: float, seed: int) -> Quantity:
    """Return the mean of what is defined with its bootstrap interval, or its maximum, minimum or median without one."""
    example = defined(values)
    values = np.asarray(values)[example]
    n = len(values)
    if n == 0:
        return Quantity(math.nan, 0)
    if not np.isfinite(values).all():
        return Quantity(math.nan, n, worst=int(example[~np.isfinite(values)][0]))
    if aggregate == "mean":
        interval = bootstrap_interval(values, confidence=confidence, seed=seed)
        return Quantity(float(values.mean()), n, interval, int(example[values.argmin()]))
    if aggregate == "max":
        return Quantity(float(values.max()), n, worst=int(example[values.argmax()]))
    if aggregate == "min":
        return Quantity(float(values.min()), n, worst=int(example[values.argmin()]))
    return Quantity(float(np.median(values)), n)


def bootstrap_interval(values: Values, *, confidence: float, seed: int) -> tuple[float, float] | None:
    """Return the BCa bootstrap interval of the mean: None for one example, a point where all examples agree.

    BCa is undefined where every resampled mean lies on one side of the mean, as where the examples differ by rounding
    alone; percentiles of the same resamples take its place there.
    """
    from scipy.stats import bootstrap

    if len(values) < 2:
        return None
    if np.ptp(values) <= 1e-15 * max(1.0, float(np.abs(values).max())):
        return float(values.min()), float(values.max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where BCa is undefined
        for kind in ("BCa", "percentile"):
            low, high = bootstrap(
                (values,),
                np.mean,
                confidence_level=confidence,
                n_resamples=RESAMPLES,
                method=kind,
                rng=np.random.default_rng(seed),
            ).confidence_interval
            if math.isfinite(low) and math.isfinite(high):
                break
    return float(low), float(high)
