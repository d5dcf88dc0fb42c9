"""Relevance sums to what is explained: f(x), or f(x) - f(baseline) for a method that has a baseline."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.views import SideView


@axiom(
    "conservation",
    metrics={
        "relative_error": Metric("|sum of relevance - total| / |total|", rounding=True),
        "ratio": Metric("sum of relevance / total"),
    },
    expect={"relative_error.max": {"le": 1e-9}},
)
def conservation(side: SideView) -> dict[str, Values]:
    """The sum of each example's relevance against its total."""
    summed = side.scores.sum(axis=1)
    total = as_numpy(side.bench.attribution().total)
    return {"relative_error": divided(np.abs(summed - total), np.abs(total)), "ratio": divided(summed, total)}
