"""Two models that compute the same function must get the same attribution (Sundararajan et al. 2017)."""

from __future__ import annotations

from axioms.checks.correlations import pearson, sign_flipped, spearman, sum_normalized
from axioms.checks.views import PairView, relative_gap
from axioms.measure import Values
from axioms.registry import Metric, axiom


@axiom(
    "implementation_invariance",
    scope="pair",
    metrics={
        "relative_gap": Metric("max_i |L_i - R_i| / max_i max(|L_i|, |R_i|)", rounding=True),
        "pearson": Metric("Pearson's r of left and right"),
        "pearson_sum_normalized": Metric("the same after dividing each map by its sum, as the paper does"),
        "spearman": Metric("Spearman's rank correlation of left and right"),
        "sign_flipped": Metric("1 where that division flips the sign of r"),
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def implementation_invariance(pair: PairView) -> dict[str, Values]:
    """The gap and the correlation between the relevance on the left and on the right."""
    left, right = pair.left.scores, pair.right.scores
    return {
        "relative_gap": relative_gap(left, right),
        "pearson": pearson(left, right),
        "pearson_sum_normalized": pearson(sum_normalized(left), sum_normalized(right)),
        "spearman": spearman(left, right),
        "sign_flipped": sign_flipped(left, right),
    }
