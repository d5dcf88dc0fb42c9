"""Relevance changes no faster than its input: max over y near x of ||R(y) - R(x)|| / ||y - x||.

The local Lipschitz estimate of Alvarez-Melis & Jaakkola 2018, over uniform noise in a box; of texts, on the embeddings.
`by: tokens` puts a near token in the place of one instead. Quantus' LocalLipschitzEstimate draws normal noise, and is
equal on the same noise (tests/properties/test_peers_stability.py). captum has none.
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.neighbours import By, neighbours, norm
from axioms.properties.helpers.views import SideView


@axiom(
    "local_lipschitz",
    metrics={"lipschitz": Metric("max over neighbours of ||R(y) - R(x)|| / ||y - x||; lower is better")},
)
def local_lipschitz(
    side: SideView, *, by: By = "noise", radius: float = 0.02, nearest: int = 5, samples: Samples = 10, seed: Seed = 0
) -> dict[str, Values]:
    """The largest quotient of the change of the relevance and the change of the input among neighbours."""
    x = as_numpy(side.inputs.features.flatten(1))
    near = neighbours(side, by=by, radius=radius, nearest=nearest, samples=samples, seed=seed)
    quotients = [divided(norm(other.scores - side.scores), norm(other.features - x)) for other in near]
    return {"lipschitz": np.max(quotients, axis=0)}
