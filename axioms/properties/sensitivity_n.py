"""Removing any n features takes what they have together: sum over S of R_i = f(x) - f(x without S), for all |S| = n.

Sensitivity-n of Ancona et al. 2018 ("Towards Better Understanding of Gradient-based Attribution Methods"), who report
Pearson's r over 100 random sets S, here `pearson`; the property itself is `relative_error` = 0. n = 1 is
leave-one-out, n = all of them completeness. Quantus' SensitivityN is another metric: for each n it correlates over the
examples of a batch the relevance of the n-th most relevant feature with the drop without the n most relevant
(tests/properties/test_peers_faithfulness.py).
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, divided
from axioms.properties.helpers.correlations import left_out, pearson
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.helpers.views import SideView


@axiom(
    "sensitivity_n",
    metrics={
        "pearson": Metric("Pearson's r of sum over S of R_i and f(x) - f(x without S), over random sets S of n units"),
        "relative_error": Metric("max over S of |sum over S of R_i - drop| / max over S of |drop|", rounding=True),
        "undefined": Metric("1 where all drops are the same: there is no r, and the example is left out"),
    },
)
def sensitivity_n(side: SideView, *, n: int = 2, samples: Samples = 100, seed: Seed = 0) -> dict[str, Values]:
    """How far the relevance of random sets of n units is from what removing them takes."""
    sets = random_removals(side, samples=samples, seed=seed, size=n)
    error = np.abs(sets.relevance - sets.drop).max(axis=1)
    undefined = np.ptp(sets.drop, axis=1) == 0
    return {
        "pearson": left_out(pearson(sets.relevance, sets.drop), undefined),
        "relative_error": divided(error, np.abs(sets.drop).max(axis=1)),
        "undefined": undefined.astype(np.float64),
    }
