"""What speaks for f over g speaks against g over f: R(f - g) = -R(g - f).

The case of `linearity` (Sundararajan et al. 2017, Section 4) that explanations of a choice between two classes need: f
and g are the first two outputs of the subject, and each difference is a network of its own, with one more linear layer.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.combinations import combined_relevance
from axioms.properties.helpers.views import SideView


@axiom(
    "antisymmetry",
    metrics={
        "relative_gap": Metric("max_i |R(f - g)_i + R(g - f)_i| / max_i max(|R(f - g)_i|, |R(g - f)_i|)", rounding=True)
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def antisymmetry(side: SideView) -> dict[str, Values]:
    """The gap between the relevance of f - g and minus that of g - f, f and g the first two outputs."""
    return {"relative_gap": relative_gap(combined_relevance(side, [1, -1]), -combined_relevance(side, [-1, 1]))}
