"""Metrics that captum or Quantus has too give the same number on the same model, input and perturbations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import axioms.properties  # noqa: F401  (registers them)
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.values import as_numpy
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.properties.helpers.neighbours import neighbours
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.helpers.views import SideView
from axioms.search.trial import TrialBench
from axioms.subjects.built import ONLY, Side


class Net(nn.Module):
    """A small network over images of 4 x 4, or over sixteen features."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)).double()
        self.closest_kink = float("inf")

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layers(x)
        return outputs


@pytest.fixture
def side() -> SideView:
    module = Net()
    features = torch.rand(3, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1
    built = Side(ONLY, Model(module), read_inputs(module, features), batch_size=8)
    target = choose(1, built.outputs)
    return SideView(built, target, TrialBench(METHODS.get("gradient_x_input"), built, target))


def measured(side: SideView, axiom: str, metric: str, **options: Any) -> np.ndarray:
    return np.asarray(AXIOMS.get(axiom).function(side, **options)[metric])


@pytest.mark.parametrize("normalize", [False, True])
def test_infidelity_is_captums(side: SideView, normalize: bool) -> None:
    metrics = pytest.importorskip("captum.metrics")
    chosen = torch.from_numpy(random_removals(side, samples=32, seed=0).chosen)

    def remove(inputs: Tensor) -> Tensor:
        return inputs.masked_fill(chosen.flatten(0, 1), 0)

    theirs = metrics.infidelity(
        side.model.module,
        metrics.infidelity_perturb_func_decorator(multiply_by_inputs=True)(remove),
        side.inputs.features,
        torch.from_numpy(side.scores),
        target=1,
        n_perturb_samples=32,
        normalize=normalize,
    )
    ours = measured(side, "infidelity", "scaled" if normalize else "infidelity", samples=32)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-6)


def test_faithfulness_correlation_is_quantus(side: SideView, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its opencv does not load on a machine without a display's libraries.
    reason = "quantus cannot be imported: pip install quantus opencv-python-headless"
    quantus = pytest.importorskip("quantus", reason=reason, exc_type=ImportError)
    samples, count = 40, 3
    chosen = random_removals(side, samples=samples, seed=0, size=3).chosen
    images = side.inputs.features.reshape(3, 1, 4, 4).numpy()
    metric = quantus.FaithfulnessCorrelation(
        nr_runs=samples,
        subset_size=3,
        perturb_baseline=0.0,  # "black" is the smallest pixel of the image
        abs=False,
        normalise=False,
        return_aggregate=False,
        disable_warnings=True,
    )
    for example in range(count):
        places = iter([np.nonzero(row)[0] for row in chosen[example]])
        monkeypatch.setattr(np.random, "choice", lambda *args, places=places, **kwargs: next(places))
        (theirs,) = metric(
            model=Logits(side.model.module).eval(),
            x_batch=images[example : example + 1],
            y_batch=np.array([1]),
            a_batch=side.scores[example : example + 1].reshape(1, 1, 4, 4),
            softmax=False,
        )
        ours = measured(side, "faithfulness_correlation", "pearson", share=3 / 16, samples=samples)[example]
        assert ours == pytest.approx(theirs, abs=1e-6)


class Logits(nn.Module):
    """The model in the dtype that a peer hands over."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.inner(x.double())
        return outputs


def test_max_sensitivity_is_captums(side: SideView) -> None:
    metrics = pytest.importorskip("captum.metrics")
    near = list(neighbours(side, radius=0.05, samples=4, seed=0))
    noisy = torch.stack([neighbour.inputs.features for neighbour in near], dim=1).flatten(0, 1)

    def explain(inputs: tuple[Tensor, ...]) -> tuple[Tensor]:
        given = read_inputs(side.model.module, inputs[0])
        target = choose(1, side.model(given))
        return (side.bench.rerun(side.model, given, target, 8).scores,)

    theirs = metrics.sensitivity_max(
        explain, side.inputs.features, perturb_func=lambda inputs, radius: (noisy,), n_perturb_samples=4
    )
    ours = measured(side, "max_sensitivity", "relative", radius=0.05, samples=4)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-6)


def test_stability_is_quantus(side: SideView) -> None:
    """The quotients of Lipschitz and of relative input and output stability, of the same two maps."""
    reason = "quantus cannot be imported: pip install quantus opencv-python-headless"
    quantus = pytest.importorskip("quantus", reason=reason, exc_type=ImportError)
    functions = quantus.similarity_func

    (near,) = neighbours(side, radius=0.05, samples=1, seed=0)
    x, scores = side.inputs.features.numpy(), side.scores
    setting = {"radius": 0.05, "samples": 1}
    theirs = [
        functions.lipschitz_constant(
            *arrays, norm_numerator=functions.distance_euclidean
        )  # as LocalLipschitzEstimate calls it
        for arrays in zip(scores, near.scores, x, near.features, strict=True)
    ]
    np.testing.assert_allclose(measured(side, "local_lipschitz", "lipschitz", **setting), theirs, rtol=1e-6)
    image = (3, 1, 4, 4)
    images = [values.reshape(image) for values in (x, near.features, scores, near.scores)]
    ris = quantus.RelativeInputStability(disable_warnings=True, eps_min=1e-6).relative_input_stability_objective(
        *images
    )
    np.testing.assert_allclose(measured(side, "relative_stability", "input", **setting), ris, rtol=1e-6)
    outputs = as_numpy(side.model(near.inputs))
    ros = quantus.RelativeOutputStability(disable_warnings=True, eps_min=1e-6).relative_output_stability_objective(
        side.outputs, outputs, *images[2:]
    )
    np.testing.assert_allclose(measured(side, "relative_stability", "output", **setting), ros, rtol=1e-6)
