"""Relevance does not jump: max over |y - x| <= r of ||R(y) - R(x)|| / ||R(x)||.

Max-sensitivity of Yeh et al. 2019, over uniform noise in the box of radius r; they do not divide, captum's
`sensitivity_max` and Quantus' MaxSensitivity do, and are equal on the same noise
(tests/properties/test_peers_stability.py). `by: tokens` puts a near token in the place of one instead. Reported, not
judged: a method that is constant has none, and a model that jumps should have some.
"""

from __future__ import annotations

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, divided
from axioms.properties.helpers.neighbours import By, neighbours, norm
from axioms.properties.helpers.views import SideView


@axiom(
    "max_sensitivity",
    metrics={
        "relative": Metric("max over neighbours of ||R(y) - R(x)|| / ||R(x)||, as captum has it; lower is better"),
        "absolute": Metric("max over neighbours of ||R(y) - R(x)||, as Yeh et al. have it; lower is better"),
    },
)
def max_sensitivity(
    side: SideView, *, by: By = "noise", radius: float = 0.02, nearest: int = 5, samples: Samples = 10, seed: Seed = 0
) -> dict[str, Values]:
    """The largest change of the relevance among neighbours, as it is and relative to the relevance."""
    near = neighbours(side, by=by, radius=radius, nearest=nearest, samples=samples, seed=seed)
    largest = np.max([norm(other.scores - side.scores) for other in near], axis=0)
    return {"relative": divided(largest, norm(side.scores)), "absolute": largest}
