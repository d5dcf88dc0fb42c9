"""Randomization of parameters and of classes as Quantus has it, on the same random models, noise and classes."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
import torch
from torch import nn

import axioms.properties.randomization as ours_module
from axioms.properties.helpers.neighbours import generators
from tests.properties.peers import (
    CLASS,
    COUNT,
    IMAGES,
    evaluate,
    explainer,
    import_quantus,
    in_turn,
    make_side,
    measured,
    quiet,
)

ORDERS = [("cascading", "top_down"), ("bottom_up", "bottom_up"), ("independent", "independent")]


@pytest.fixture(autouse=True)
def reset_as_quantus_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the parameters of a layer as Quantus does, which seeds each layer alike."""

    def reset(module: nn.Module, seed: int) -> None:
        torch.manual_seed(43)
        module.reset_parameters()  # type: ignore[operator]

    monkeypatch.setattr(ours_module, "randomize", reset)


@pytest.mark.parametrize(("order", "theirs"), ORDERS)
def test_randomization_is_quantus_mprt(order: str, theirs: str) -> None:
    quantus, side = import_quantus(), make_side()
    mprt = quantus.MPRT(similarity_func=quantus.similarity_func.correlation_spearman, layer_order=theirs, **quiet())
    by_layer = evaluate(mprt, side)
    ours = measured(side, "randomization", "spearman_by_layer", order=order)
    layers = ["layers.1", "layers.3"] if order == "bottom_up" or theirs == "independent" else ["layers.3", "layers.1"]
    ours = ours[:, ::-1] if order == "independent" else ours  # Quantus goes from the input up where the order is free
    np.testing.assert_allclose(ours, np.stack([by_layer[name] for name in layers], axis=1), atol=1e-6)


def test_smooth_randomization_is_quantus(monkeypatch: pytest.MonkeyPatch) -> None:
    quantus, side = import_quantus(), make_side()
    samples = 4
    drawn = [
        np.stack(
            [torch.randn(16, generator=random, dtype=torch.float64).numpy() for random in generators(side.inputs, 0, n)]
        )
        for n in range(samples - 1)
    ]
    ours = measured(side, "randomization", "spearman_by_layer", smooth=samples, noise=0.1)
    monkeypatch.setattr(np.random, "randn", in_turn(cycle(noise.reshape(IMAGES) for noise in drawn)))
    monkeypatch.setattr(quantus, "explain", explainer(side))  # it explains noisy inputs by its own methods alone
    smooth = quantus.SmoothMPRT(
        similarity_func=quantus.similarity_func.correlation_spearman,
        layer_order="top_down",
        nr_samples=samples,
        noise_magnitude=0.1,
        **quiet(),
    )
    by_layer = evaluate(smooth, side, a_batch=None)
    np.testing.assert_allclose(ours, np.stack([by_layer[name] for name in ("layers.3", "layers.1")], axis=1), atol=1e-6)


def test_efficient_randomization_is_quantus() -> None:
    quantus, side = import_quantus(), make_side()
    efficient = quantus.EfficientMPRT(layer_order="top_down", complexity_func_kwargs={"n_bins": 5}, **quiet())
    theirs = evaluate(efficient, side, softmax=True)  # else it takes an entropy of logits, for its other scores
    assert np.abs(theirs).min() > 0.01
    np.testing.assert_allclose(measured(side, "randomization", "complexity_rise", bins=5), theirs, atol=1e-6)


def test_random_logit_is_quantus(monkeypatch: pytest.MonkeyPatch) -> None:
    """By rank correlation: theirs is SSIM by default, and its cosine takes one example at a time."""
    quantus, side = import_quantus(), make_side()
    steps = [int(np.random.default_rng([0, place]).integers(1, 3)) for place in range(COUNT)]
    others = [[0, 2].index((CLASS + step) % 3) for step in steps]  # theirs numbers the other classes
    monkeypatch.setattr(np.random, "randint", lambda *args, **kwargs: np.array(others))
    similarity = quantus.similarity_func.correlation_spearman
    theirs = evaluate(quantus.RandomLogit(similarity_func=similarity, num_classes=3, **quiet()), side)
    np.testing.assert_allclose(measured(side, "random_logit", "spearman"), theirs, atol=1e-6)
