"""An output in other units has its relevance in these units: R(c f) = c R(f).

The case of `linearity` (Sundararajan et al. 2017, Section 4) with one function. c is negative by default, so that a
rule that treats positive and negative contributions differently shows.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.combinations import combined_relevance, output_relevance
from axioms.properties.helpers.views import SideView


@axiom(
    "scale",
    metrics={"relative_gap": Metric("max_i |R(c f)_i - c R(f)_i| / max_i max(|R(c f)_i|, |c R(f)_i|)", rounding=True)},
    expect={"relative_gap.max": {"le": 1e-9}},
)
def scale(side: SideView, *, by: float = -2.0) -> dict[str, Values]:
    """The gap between the relevance of `by` times the first output and `by` times its relevance."""
    return {"relative_gap": relative_gap(combined_relevance(side, [by]), by * output_relevance(side, 0))}
