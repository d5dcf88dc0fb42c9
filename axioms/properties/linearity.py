"""The relevance of a sum is the sum of relevances: R(a f + b g) = a R(f) + b R(g).

Sundararajan et al. 2017, Section 4 ("Linearity"): f and g are two networks, and a f + b g is the network that composes
them. Here they are the first two outputs of the subject, composed by one more linear layer. Shapley's additivity (1953)
is the case a = b = 1; `antisymmetry` and `scale` are cases too. A sum of *targets* outside of the network is another
axiom: every method that starts from the target's gradient keeps it.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, divided
from axioms.properties.helpers.combinations import combined_relevance, output_relevance
from axioms.properties.helpers.views import SideView


@axiom(
    "linearity",
    metrics={
        "relative_gap": Metric(
            "max_i |R(a f + b g)_i - a R(f)_i - b R(g)_i| / max_i max(|R(a f + b g)_i|, |a R(f)_i|, |b R(g)_i|)",
            rounding=True,
        )
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def linearity(side: SideView, *, a: float = 2.0, b: float = -3.0) -> dict[str, Values]:
    """The gap between the relevance of a f + b g and the same sum of relevances, f and g the first two outputs."""
    whole = combined_relevance(side, [a, b])
    parts = a * output_relevance(side, 0), b * output_relevance(side, 1)
    size = np.abs(np.stack([whole, *parts])).max(axis=(0, 2))
    return {"relative_gap": divided(np.abs(whole - sum(parts)).max(axis=1), size)}
