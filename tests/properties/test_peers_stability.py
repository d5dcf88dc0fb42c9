"""Stability near an input as captum and Quantus have it, on the same model, input and noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.values import as_numpy
from axioms.model.inputs import read_inputs
from axioms.model.targets import choose
from axioms.properties.helpers.layers import layers_of
from axioms.properties.helpers.neighbours import neighbours
from axioms.properties.helpers.views import SideView
from tests.properties.peers import CLASS, evaluate, import_quantus, in_turn, make_side, measured, quiet

NEAR = {"radius": 0.05, "samples": 4, "seed": 0}


def noise(side: SideView) -> list[np.ndarray]:
    """The neighbours' features, one array for each sample."""
    return [near.features for near in neighbours(side, radius=0.05, samples=4, seed=0)]


def test_max_sensitivity_is_captums() -> None:
    metrics, side = pytest.importorskip("captum.metrics"), make_side()
    noisy = torch.from_numpy(np.stack(noise(side), axis=1)).flatten(0, 1)

    def explain(inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        given = read_inputs(side.model.module, inputs[0])
        return (side.bench.rerun(side.model, given, choose(CLASS, side.model(given)), 8).scores,)

    theirs = metrics.sensitivity_max(
        explain, side.inputs.features, perturb_func=lambda inputs, radius: (noisy,), n_perturb_samples=4
    )
    np.testing.assert_allclose(measured(side, "max_sensitivity", "relative", **NEAR), as_numpy(theirs), rtol=1e-6)


PEERS = [
    ("MaxSensitivity", "max_sensitivity", "relative", {}),
    ("LocalLipschitzEstimate", "local_lipschitz", "lipschitz", {}),
    ("RelativeInputStability", "relative_stability", "input", {}),
    ("RelativeOutputStability", "relative_stability", "output", {}),
    ("RelativeRepresentationStability", "relative_stability", "representation", {"layer_names": ["layers.1"]}),
    ("RelativeRepresentationStability", "relative_stability", "representation", {}),
]


@pytest.mark.parametrize(("peer", "axiom", "metric", "options"), PEERS)
def test_stability_is_quantus(peer: str, axiom: str, metric: str, options: dict[str, Any]) -> None:
    quantus, side = import_quantus(), make_side()
    ours = dict(NEAR)
    if metric == "representation":  # without names theirs are the outputs of all modules but the outermost
        ours["layers"] = options.get("layer_names", [f"layers.{place}" for place in range(4)])
    theirs = getattr(quantus, peer)(
        perturb_func=in_turn(noise(side)), nr_samples=4, return_nan_when_prediction_changes=False, **quiet(), **options
    )
    np.testing.assert_allclose(measured(side, axiom, metric, **ours), evaluate(theirs, side), rtol=1e-6)


def test_the_layers_are_those_with_parameters() -> None:
    side = make_side()
    assert layers_of(side.model.module) == ["layers.3", "layers.1"]
    named = measured(side, "relative_stability", "representation", layers=["layers.1", "layers.3"])
    np.testing.assert_array_equal(measured(side, "relative_stability", "representation"), named)
