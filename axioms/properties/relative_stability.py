"""Relevance changes by no larger share than its input, the model's output or its layers: max over y of |dR/R| / |dx/x|.

Relative stability of Agarwal et al. 2022 ("Rethinking Stability for Attribution-based Explanations"), of the input, the
representation and the output: ||(R(x) - R(y)) / R(x)|| over max(||(x - y) / x||, e), max(||(L(x) - L(y)) / L(x)||, e)
and max(||h(x) - h(y)||, e), h the logits, quotients entry by entry, zeros replaced by e. They leave open which layers L
is; here it is the outputs of all modules with parameters, or of those in `layers`, as `layer_names` in Quantus. Quantus
has all three by the same formulas (tests/properties/test_peers_stability.py), leaves out neighbours of which the model
predicts another class, and takes all modules for L. `by: tokens` puts a near token in the place of one instead of noise
on all embeddings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.seeds import Seed
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.layers import layers_of, representations
from axioms.properties.helpers.neighbours import By, neighbours, norm
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.model.inputs import Inputs

SMALLEST = 1e-6
"""What stands in the place of a zero denominator, as in Agarwal et al. and in Quantus."""


@axiom(
    "relative_stability",
    metrics={
        "input": Metric("max over neighbours of ||dR / R|| / max(||dx / x||, 1e-6); lower is better"),
        "representation": Metric("max over neighbours of ||dR / R|| / max(||dL / L||, 1e-6), L outputs of layers"),
        "output": Metric("max over neighbours of ||dR / R|| / max(||d logits||, 1e-6); lower is better"),
    },
)
def relative_stability(
    side: SideView,
    *,
    by: By = "noise",
    radius: float = 0.02,
    nearest: int = 5,
    layers: list[str] | None = None,
    samples: Samples = 10,
    seed: Seed = 0,
) -> dict[str, Values]:
    """The largest relative change of the relevance among neighbours, by that of the input, the layers and the outputs.

    A model without parameters has no representation: that metric is left out.
    """
    from axioms.subjects.built import outputs_of

    names = layers_of(side.model.module) if layers is None else layers
    x, hidden = as_numpy(side.inputs.features.flatten(1)), _hidden(side, side.inputs, names)
    quotients: dict[str, list[Values]] = {"input": [], "representation": [], "output": []}
    for near in neighbours(side, by=by, radius=radius, nearest=nearest, samples=samples, seed=seed):
        change = norm(_relative(side.scores - near.scores, side.scores))
        outputs = as_numpy(outputs_of(side.model, near.inputs, side.batch_size))
        moved = {
            "input": _relative(x - near.features, x),
            "representation": _relative(hidden - _hidden(side, near.inputs, names), hidden),
            "output": side.outputs - outputs,
        }
        for name, by_what in moved.items():
            quotients[name].append(change / np.maximum(norm(by_what), SMALLEST))
    largest = {name: np.max(values, axis=0) for name, values in quotients.items()}
    return {**largest, "representation": left_out(largest["representation"], np.full(len(x), not names))}


def _hidden(side: SideView, inputs: Inputs, names: list[str]) -> Values:
    return representations(side.model, inputs, names, side.batch_size) if names else np.zeros((len(inputs), 1))


def _relative(change: Values, start: Values) -> Values:
    return change / np.where(start == 0, SMALLEST, start)
