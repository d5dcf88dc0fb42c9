"""The two models of a pair compute the same function. Every pair implies this check."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.views import PairView


@axiom(
    "forward_equivalence",
    scope="pair",
    methodless=True,
    metrics={"gap": Metric("max_k |f_k - g_k| / max_k max(|f_k|, |g_k|) over the outputs k", rounding=True)},
    expect={"gap.max": {"le": 1e-10}},
)
def forward_equivalence(pair: PairView) -> dict[str, Values]:
    """The largest difference of the outputs, relative to the largest output."""
    left, right = pair.left.outputs, pair.right.outputs
    return {"gap": relative_gap(left, right)}
