"""The error of relevance as a linear model of removal: E over S of (sum over S of R_i - (f(x) - f(x without S)))^2.

Infidelity of Yeh et al. 2019, whose perturbation I removes each unit with probability one half. Their I' R is for
slopes; relevance is a slope times the input, so that I is 1 on what is removed: captum's `infidelity` with
`infidelity_perturb_func_decorator(multiply_by_inputs=True)`, which is equal on the same sets
(tests/properties/test_peers_faithfulness.py). `scaled` is captum's `normalize=True`: the relevance may first be
multiplied by the one number that fits best. Quantus' Infidelity takes slopes and removes one patch of an image after
the other, each time with all before it; on those sets it is the same.
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, divided
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.helpers.views import SideView


@axiom(
    "infidelity",
    metrics={
        "infidelity": Metric("mean over random sets of (sum of their relevance - drop)^2; lower is better"),
        "scaled": Metric("the same after the relevance is multiplied by the number that makes it smallest"),
        "relative": Metric("infidelity / mean of drop^2: 1 for relevance that is zero"),
    },
)
def infidelity(side: SideView, *, samples: Samples = 64, seed: Seed = 0) -> dict[str, Values]:
    """The mean squared error of the relevance of random sets, as it is and after the best scaling."""
    sets = random_removals(side, samples=samples, seed=seed)
    error = ((sets.relevance - sets.drop) ** 2).mean(axis=1)
    factor = divided((sets.relevance * sets.drop).mean(axis=1), (sets.relevance**2).mean(axis=1))
    scaled = ((factor[:, None] * sets.relevance - sets.drop) ** 2).mean(axis=1)
    return {"infidelity": error, "scaled": scaled, "relative": divided(error, (sets.drop**2).mean(axis=1))}
