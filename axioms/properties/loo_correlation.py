"""How far a method agrees with leave-one-out: Table 2's first column of You et al. 2025.

`pearson` is the faithfulness of Alvarez-Melis & Jaakkola 2018, Quantus' FaithfulnessEstimate, and equal to it
(tests/properties/test_peers_faithfulness.py).
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.correlations import (
    constant,
    left_out,
    pearson,
    sign_flipped,
    spearman,
    sum_normalized,
    too_few,
)
from axioms.properties.helpers.views import SideView


@axiom(
    "loo_correlation",
    metrics={
        "pearson": Metric("Pearson's r with leave-one-out"),
        "pearson_sum_normalized": Metric("the same after dividing each map by its sum, as the paper does"),
        "spearman": Metric("Spearman's rank correlation with leave-one-out"),
        "sign_flipped": Metric("1 where that division flips the sign of r"),
        "division_change": Metric("what that division adds to r: 0, or -2 r where it flips the sign"),
        "relative_gap": Metric("max_i |R_i - LOO_i| / max_i max(|R_i|, |LOO_i|)", rounding=True),
        "undefined": Metric("1 where an example has no r, and is left out: under three candidates, or constant LOO"),
    },
)
def loo_correlation(side: SideView) -> dict[str, Values]:
    """Correlations of each example's relevance with its leave-one-out scores, over its candidates or chunks of them.

    r is undefined for an example with fewer than three of them, or of which they all have the same leave-one-out score:
    whatever the method, it is left out and counted in `undefined`. Where the method gives all the same score, r is not
    a number, and the check inconclusive.
    """
    units = side.units()
    scores, loo, counted = units.sums(side.scores), units.sums(side.loo), units.counted
    undefined = too_few(counted) | constant(loo, counted)
    as_it_is = left_out(pearson(scores, loo, counted), undefined)
    divided = left_out(pearson(sum_normalized(scores, counted), sum_normalized(loo, counted), counted), undefined)
    return {
        "pearson": as_it_is,
        "pearson_sum_normalized": divided,
        "spearman": left_out(spearman(scores, loo, counted), undefined),
        "sign_flipped": left_out(sign_flipped(scores, loo, counted), undefined),
        "division_change": divided - as_it_is,
        "relative_gap": relative_gap(scores, loo),
        "undefined": undefined.astype(np.float64),
    }
