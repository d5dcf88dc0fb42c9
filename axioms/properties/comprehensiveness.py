"""Without its rationale the prediction falls: mean over bins k of p(x) - p(x without the top k%).

Comprehensiveness of ERASER (DeYoung et al. 2020), Section 5: p is the predicted probability, the bins are 1, 5, 10,
20 and 50% of the tokens. How a token is taken out is the subject's `remove`, where ERASER deletes it. Neither captum
nor Quantus 0.6 has it.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.rationales import BINS, Output, rationale_drops
from axioms.properties.helpers.views import SideView


@axiom(
    "comprehensiveness",
    metrics={"comprehensiveness": Metric("mean over bins of p(x) - p(x without the top k%); higher is better")},
)
def comprehensiveness(side: SideView, *, bins: list[float] = BINS, of: Output = "probability") -> dict[str, Values]:
    """The mean drop of the probability, or of the target, when the most relevant units are removed."""
    return {"comprehensiveness": rationale_drops(side, bins, of, keep=False)}
