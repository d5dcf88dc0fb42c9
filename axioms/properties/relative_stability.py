"""Relevance changes by no larger share than its input or the model's output: max over y of |dR / R| / |dx / x|.

Relative input and output stability of Agarwal et al. 2022: RIS = ||(R(x) - R(y)) / R(x)|| / max(||(x - y) / x||, e) and
ROS = ||(R(x) - R(y)) / R(x)|| / max(||h(x) - h(y)||, e), h the logits, quotients entry by entry, zeros replaced by e.
Quantus has both by the same formulas. Their relative *representation* stability is not here.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.neighbours import neighbours, norm
from axioms.properties.helpers.views import SideView

SMALLEST = 1e-6
"""What stands in the place of a zero denominator, as in Agarwal et al. and in Quantus."""


@axiom(
    "relative_stability",
    metrics={
        "input": Metric("max over neighbours of ||dR / R|| / max(||dx / x||, 1e-6); lower is better"),
        "output": Metric("max over neighbours of ||dR / R|| / max(||d logits||, 1e-6); lower is better"),
    },
)
def relative_stability(side: SideView, *, radius: float = 0.02, samples: int = 10, seed: int = 0) -> dict[str, Values]:
    """The largest relative change of the relevance among neighbours, by that of the input and of the outputs."""
    from axioms.subjects.built import outputs_of

    x = as_numpy(side.inputs.features.flatten(1))
    by_input, by_output = [], []
    for near in neighbours(side, radius=radius, samples=samples, seed=seed):
        change = norm(_relative(side.scores - near.scores, side.scores))
        outputs = as_numpy(outputs_of(side.model, near.inputs, side.batch_size))
        by_input.append(change / np.maximum(norm(_relative(x - near.features, x)), SMALLEST))
        by_output.append(change / np.maximum(norm(side.outputs - outputs), SMALLEST))
    return {"input": np.max(by_input, axis=0), "output": np.max(by_output, axis=0)}


def _relative(change: Values, start: Values) -> Values:
    return change / np.where(start == 0, SMALLEST, start)
