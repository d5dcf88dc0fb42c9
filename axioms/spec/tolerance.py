"""How far a metric may move from a saved run before the baseline gate calls it a drift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from pydantic import Field, model_validator

from axioms.core.entries import Axiom
from axioms.core.errors import did_you_mean
from axioms.core.registry import AXIOMS
from axioms.spec.metrics import AGGREGATES, SIDES, split_metric
from axioms.spec.references import Strict, fail


class Tolerance(Strict):
    """`{abs: 1e-7, rel: 1e-6}`: a metric may move by the larger of `abs` and `rel` times what it was."""

    abs: float | None = Field(
        None, ge=0, description="By this much; where it is left out, by the default of the dtype."
    )
    rel: float | None = Field(None, ge=0, description="By this share of what it was; else the default of the dtype.")

    @model_validator(mode="after")
    def _something(self) -> Tolerance:
        if self.abs is None and self.rel is None:
            raise fail("a tolerance is {abs: ...}, {rel: ...} or both")
        return self

    def over(self, default: Tolerance) -> Tolerance:
        """Return this tolerance with the default for what it leaves out."""
        absolute = default.abs if self.abs is None else self.abs
        return Tolerance(abs=absolute, rel=default.rel if self.rel is None else self.rel)


DEFAULTS = {
    "float64": Tolerance(abs=1e-7, rel=1e-6),
    "float32": Tolerance(abs=1e-4, rel=1e-4),
    "float16": Tolerance(abs=5e-2, rel=5e-2),
    "bfloat16": Tolerance(abs=5e-2, rel=5e-2),
}
"""By the dtype of a run. The same code gives other digits on another CPU, BLAS or number of threads, because sums are
taken in another order: between AVX-512 and SSE the metrics of the default run differ by at most 1e-8 in float64 and
5e-7 in float32 (but for one, whose spec says so). Metrics that are rounding themselves, such as the gap of an invariant
method, lie far below `abs`. In float32 the order of two close tokens may turn, which moves ranks and curves by more."""


def tolerance_of(
    stated: Mapping[str, Tolerance], axiom: Axiom, check: str, metric: str, dtype: str
) -> Tolerance | None:
    """Return what the first pattern that matches says, else the axiom, else the dtype; None where time is measured.

    A pattern is matched with `axiom.metric`: with side and aggregate, without the side, and without either. What stands
    before a slash is matched with `check`, which is what pytest puts in brackets.
    """
    if axiom.timed:
        return None
    _, bare, aggregate = split_metric(axiom, metric)
    names = (metric, f"{bare}.{aggregate}" if aggregate else bare, bare)
    moves = axiom.metrics[bare].moves
    default = DEFAULTS[dtype] if moves is None else Tolerance(abs=moves[0], rel=moves[1])
    for pattern, tolerance in stated.items():
        checks, _, metrics = pattern.rpartition("/")
        if any(fnmatchcase(f"{axiom.name}.{name}", metrics) for name in names) and fnmatchcase(check, checks or "*"):
            return tolerance.over(default)
    return default


def pattern_problem(pattern: str) -> str | None:
    """Return what is wrong with a pattern: one that matches no metric of any axiom is misspelt."""
    pattern = pattern.rpartition("/")[2]
    if any(fnmatchcase(name, pattern) for name in _all_names()):
        return None
    axiom_name, _, metric = pattern.partition(".")
    if axiom_name in AXIOMS:
        return f"{axiom_name!r} measures no {metric!r}.{did_you_mean(metric, AXIOMS.get(axiom_name).metrics)}"
    return f"{pattern!r} matches no `axiom.metric`.{did_you_mean(axiom_name, AXIOMS)}"


def _all_names() -> Iterator[str]:
    for axiom_name in AXIOMS:
        for metric, about in AXIOMS.get(axiom_name).metrics.items():
            tails = [metric, *(f"{metric}.{aggregate}" for aggregate in AGGREGATES if about.kind == "per_example")]
            for tail in tails:
                yield f"{axiom_name}.{tail}"
                yield from (f"{axiom_name}.{side}.{tail}" for side in SIDES)
