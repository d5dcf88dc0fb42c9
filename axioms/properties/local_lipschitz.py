"""Relevance changes no faster than its input: max over y near x of ||R(y) - R(x)|| / ||y - x||.

The local Lipschitz estimate of Alvarez-Melis & Jaakkola 2018, over uniform noise in a box; of texts, on the embeddings.
Quantus' LocalLipschitzEstimate is the same quotient over normal noise. captum has none.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.neighbours import neighbours, norm
from axioms.properties.helpers.views import SideView


@axiom(
    "local_lipschitz",
    metrics={"lipschitz": Metric("max over neighbours of ||R(y) - R(x)|| / ||y - x||; lower is better")},
)
def local_lipschitz(side: SideView, *, radius: float = 0.02, samples: int = 10, seed: int = 0) -> dict[str, Values]:
    """The largest quotient of the change of the relevance and the change of the input among neighbours."""
    x = as_numpy(side.inputs.features.flatten(1))
    near = neighbours(side, radius=radius, samples=samples, seed=seed)
    quotients = [norm(other.scores - side.scores) / norm(other.features - x) for other in near]
    return {"lipschitz": np.max(quotients, axis=0)}
