"""Faithfulness as captum and Quantus have it, on the same model, input and removals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.values import as_numpy
from axioms.properties.helpers import subsets
from axioms.properties.helpers.correlations import pearson
from axioms.properties.helpers.subsets import drops, random_removals
from tests.properties.peers import COUNT, evaluate, import_quantus, in_turn, make_side, measured, quiet

TO_ZERO = {"perturb_baseline": 0.0}
"""What removal is to Quantus; "black" is the smallest pixel of the image."""


@pytest.mark.parametrize("normalize", [False, True])
def test_infidelity_is_captums(normalize: bool) -> None:
    metrics, side = pytest.importorskip("captum.metrics"), make_side()
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
    np.testing.assert_allclose(ours, as_numpy(theirs), rtol=1e-6)


def test_infidelity_is_quantus_on_its_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quantus removes one patch after the other and leaves it removed; its relevance is a slope."""
    quantus, side = import_quantus(), make_side()
    growing = np.tril(np.ones((16, 16), dtype=bool))
    monkeypatch.setattr(subsets, "_draw", lambda *args: growing)
    theirs = quantus.Infidelity(perturb_patch_sizes=[1], n_perturb_samples=1, **TO_ZERO, **quiet())
    slopes = side.scores / as_numpy(side.inputs.features)
    expected = evaluate(theirs, side, a_batch=slopes.reshape(COUNT, 1, 4, 4))
    np.testing.assert_allclose(measured(side, "infidelity", "infidelity", samples=16), expected, rtol=1e-6)


def test_faithfulness_correlation_is_quantus(monkeypatch: pytest.MonkeyPatch) -> None:
    quantus, side = import_quantus(), make_side()
    chosen = random_removals(side, samples=40, seed=0, size=3).chosen
    ours = measured(side, "faithfulness_correlation", "pearson", share=3 / 16, samples=40)
    places = np.stack([[np.nonzero(row)[0] for row in example] for example in chosen])
    monkeypatch.setattr(np.random, "choice", in_turn(places.transpose(1, 0, 2).reshape(-1, 3)))
    theirs = quantus.FaithfulnessCorrelation(nr_runs=40, subset_size=3, **TO_ZERO, **quiet())
    np.testing.assert_allclose(ours, evaluate(theirs, side), atol=1e-6)


def test_loo_correlation_is_quantus_faithfulness_estimate() -> None:
    quantus, side = import_quantus(), make_side()
    theirs = quantus.FaithfulnessEstimate(features_in_step=1, **TO_ZERO, **quiet())
    np.testing.assert_allclose(measured(side, "loo_correlation", "pearson"), evaluate(theirs, side), atol=1e-6)


ORDERED: list[tuple[str, dict[str, Any], str, int]] = [
    ("PixelFlipping", {"features_in_step": 1}, "morf", 1),
    ("PixelFlipping", {"features_in_step": 4}, "morf", 4),
    ("Selectivity", {"patch_size": 1}, "morf", 1),
    ("RegionPerturbation", {"patch_size": 1, "regions_evaluation": 16, "order": "morf"}, "aopc", 1),
]


@pytest.mark.parametrize(("peer", "options", "metric", "step"), ORDERED)
def test_perturbation_is_the_mean_of_quantus_curves(peer: str, options: dict[str, Any], metric: str, step: int) -> None:
    quantus, side = import_quantus(), make_side()
    curves = np.asarray(evaluate(getattr(quantus, peer)(**options, **TO_ZERO, **quiet()), side))
    np.testing.assert_allclose(measured(side, "perturbation", metric, step=step), curves.mean(axis=1), atol=1e-6)


def test_quantus_sensitivity_n_is_another_metric() -> None:
    """For each n it correlates over examples: the relevance of the n-th feature, the drop without the first n."""
    quantus, side = import_quantus(), make_side()
    theirs = evaluate(quantus.SensitivityN(features_in_step=1, n_max_percentage=1.0, **TO_ZERO, **quiet()), side)
    order = np.argsort(-side.scores, axis=1)
    removed = order.argsort(axis=1)[:, None, :] <= np.arange(16)[None, :, None]
    drop = drops(side, removed, side.target)
    relevance = np.take_along_axis(side.scores, order, axis=1)
    np.testing.assert_allclose(theirs, pearson(relevance.T, drop.T), atol=1e-6)
