"""Two models that compute the same function must get the same attribution (Sundararajan et al. 2017)."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.correlations import left_out, pearson, sign_flipped, spearman, sum_normalized, too_few
from axioms.properties.helpers.views import PairView


@axiom(
    "implementation_invariance",
    scope="pair",
    metrics={
        "relative_gap": Metric("max_i |L_i - R_i| / max_i max(|L_i|, |R_i|)", rounding=True),
        "pearson": Metric("Pearson's r of left and right"),
        "pearson_sum_normalized": Metric("the same after dividing each map by its sum, as the paper does"),
        "spearman": Metric("Spearman's rank correlation of left and right"),
        "sign_flipped": Metric("1 where that division flips the sign of r"),
        "undefined": Metric("1 where an example has no r, and is left out: under three candidates"),
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def implementation_invariance(pair: PairView) -> dict[str, Values]:
    """The gap between the relevance on the left and on the right, of all features; the correlation, over candidates.

    An example with fewer than three candidates (or chunks of them) has no r: it is left out and counted in `undefined`.
    """
    units = pair.left.units()
    left, right, counted = units.sums(pair.left.scores), units.sums(pair.right.scores), units.counted
    undefined = too_few(counted)
    return {
        "relative_gap": relative_gap(pair.left.scores, pair.right.scores),
        "pearson": left_out(pearson(left, right, counted), undefined),
        "pearson_sum_normalized": left_out(
            pearson(sum_normalized(left, counted), sum_normalized(right, counted), counted), undefined
        ),
        "spearman": left_out(spearman(left, right, counted), undefined),
        "sign_flipped": left_out(sign_flipped(left, right, counted), undefined),
        "undefined": undefined.astype(np.float64),
    }
