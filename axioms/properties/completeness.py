"""Relevance adds up to what a stated baseline lacks: sum_i R_i(x) = f(x) - f(b).

Sundararajan et al. 2017, Section 3, Proposition 1; "efficiency" of Shapley values; "summation to delta" of DeepLIFT.
The axiom `conservation` measures each method against its own total; here b is the same for all: every feature has the
value `baseline`. Quantus' Completeness asks whether the two are the same float, which rounding decides.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.views import SideView


@axiom(
    "completeness",
    metrics={
        "relative_error": Metric("|sum of R_i - (f(x) - f(b))| / |f(x) - f(b)|", rounding=True),
        "ratio": Metric("sum of R_i / (f(x) - f(b))"),
    },
    expect={"relative_error.max": {"le": 1e-9}},
)
def completeness(side: SideView, *, baseline: float = 0.0) -> dict[str, Values]:
    """The sum of each example's relevance against the difference between its output and the baseline's."""
    summed = side.scores.sum(axis=1)
    difference = side.bench.remember(("difference", baseline), lambda: _difference(side, baseline))
    error = np.abs(summed - difference)
    return {"relative_error": divided(error, np.abs(difference)), "ratio": divided(summed, difference)}


def _difference(side: SideView, baseline: float) -> Values:
    """Return f(x) - f(b) of each example."""
    import torch

    from axioms.subjects.built import outputs_of

    start = side.inputs.with_features(torch.full_like(side.inputs.features, baseline))
    at_start = outputs_of(side.model, start, side.batch_size)
    return as_numpy(side.target(side.side.outputs)) - as_numpy(side.target(at_start))
