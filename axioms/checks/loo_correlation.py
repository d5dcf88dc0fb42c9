"""How far a method agrees with leave-one-out: Table 2's first column."""

from __future__ import annotations

from axioms.checks.correlations import pearson, sign_flipped, spearman, sum_normalized
from axioms.checks.views import SideView, relative_gap
from axioms.measure import Values
from axioms.registry import Metric, axiom


@axiom(
    "loo_correlation",
    metrics={
        "pearson": Metric("Pearson's r with leave-one-out"),
        "pearson_sum_normalized": Metric("the same after dividing each map by its sum, as the paper does"),
        "spearman": Metric("Spearman's rank correlation with leave-one-out"),
        "sign_flipped": Metric("1 where that division flips the sign of r"),
        "relative_gap": Metric("max_i |R_i - LOO_i| / max_i max(|R_i|, |LOO_i|)", rounding=True),
    },
)
def loo_correlation(side: SideView) -> dict[str, Values]:
    """Correlations of each example's relevance with its leave-one-out scores."""
    scores, loo = side.scores, side.loo
    return {
        "pearson": pearson(scores, loo),
        "pearson_sum_normalized": pearson(sum_normalized(scores), sum_normalized(loo)),
        "spearman": spearman(scores, loo),
        "sign_flipped": sign_flipped(scores, loo),
        "relative_gap": relative_gap(scores, loo),
    }
