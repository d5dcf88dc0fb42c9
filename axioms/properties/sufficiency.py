"""The rationale alone carries the prediction: mean over bins k of p(x) - p(the top k% alone).

Sufficiency of ERASER (DeYoung et al. 2020), Section 5, over the same bins as `comprehensiveness`; low is good, and it
may be negative. captum has none; Quantus' Sufficiency is another metric (Dasgupta et al. 2022: do examples with similar
maps get the same class).
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.rationales import BINS, Output, rationale_drops
from axioms.properties.helpers.views import SideView


@axiom(
    "sufficiency",
    metrics={"sufficiency": Metric("mean over bins of p(x) - p(the top k% alone); lower is better")},
)
def sufficiency(side: SideView, *, bins: list[float] = BINS, of: Output = "probability") -> dict[str, Values]:
    """The mean drop of the probability, or of the target, when only the most relevant units are left."""
    return {"sufficiency": rationale_drops(side, bins, of, keep=True)}
