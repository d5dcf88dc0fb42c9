"""Relevance predicts the output of what is left: Spearman's r of sum over kept i of R_i and f(x with these alone).

The linear datamodeling score of Park et al. 2023, as ContextCite uses it for sources of a context (Cohen-Wang et al.
2024): each unit is removed with probability one half. No peer has it for features; TRAK's is over training examples.
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values
from axioms.properties.helpers.correlations import left_out, spearman
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.helpers.views import SideView


@axiom(
    "lds",
    metrics={
        "spearman": Metric("Spearman's r of predicted and actual outputs over random removals; higher is better"),
        "undefined": Metric("1 where all outputs are the same: there is no r, and the example is left out"),
    },
)
def lds(side: SideView, *, samples: Samples = 64, seed: Seed = 0) -> dict[str, Values]:
    """The rank correlation of predicted and actual outputs, over `samples` random halves of each example's units."""
    sets = random_removals(side, samples=samples, seed=seed)
    # What is left has the whole relevance minus that of what is removed, and the whole output minus the drop.
    undefined = np.ptp(sets.drop, axis=1) == 0
    return {
        "spearman": left_out(spearman(-sets.relevance, -sets.drop), undefined),
        "undefined": undefined.astype(np.float64),
    }
