"""The more relevance a set of features has, the more its removal takes: r(sum over S of R_i, f(x) - f(x without S)).

Bhatt et al. 2020 ("Evaluating and Aggregating Feature-based Model Explanations"), over random sets of one size; the
size is a share of the units, by default a fifth. It is `sensitivity_n`'s r under another name and with another
default; captum has none, Quantus' FaithfulnessCorrelation is the same on the same sets
(tests/properties/test_peers_faithfulness.py).
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values
from axioms.properties.helpers.correlations import left_out, pearson, spearman
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.helpers.views import SideView


@axiom(
    "faithfulness_correlation",
    metrics={
        "pearson": Metric("Pearson's r over random sets of the sum of relevance and the drop of the output"),
        "spearman": Metric("Spearman's rank correlation of the same"),
        "undefined": Metric("1 where all drops are the same: there is no r, and the example is left out"),
    },
)
def faithfulness_correlation(
    side: SideView, *, share: float = 0.2, samples: Samples = 100, seed: Seed = 0
) -> dict[str, Values]:
    """Correlations over random sets, each a `share` of the example's units, and at least one."""
    if not 0 < share <= 1:
        raise InputError(f"faithfulness_correlation removes a share above 0 and up to 1, not {share:g}.")
    sets = random_removals(side, samples=samples, seed=seed, size=share)
    undefined = np.ptp(sets.drop, axis=1) == 0
    return {
        "pearson": left_out(pearson(sets.relevance, sets.drop), undefined),
        "spearman": left_out(spearman(sets.relevance, sets.drop), undefined),
        "undefined": undefined.astype(np.float64),
    }
