"""Axioms and pointing at a truth as Quantus has them: the same numbers, or verdicts where it gives a boolean."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from axioms.core.values import as_numpy, relative_gap
from axioms.model.module import Model
from axioms.properties.helpers.pointing import pointing_game, relevance_mass
from axioms.rewrites.units import input_shift
from tests.properties.peers import COUNT, IMAGES, Net, evaluate, import_quantus, make_side, measured, quiet

TRUTH = np.zeros((COUNT, 16), dtype=bool)
TRUTH[:, :6] = True


class Sum(nn.Module):
    """3 x_1 + 3 x_2 + ..., whole numbers, and nothing of the last feature."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 2, bias=False)
        self.layer.weight = nn.Parameter(torch.full((2, 16), 3.0, dtype=torch.float64))
        self.layer.weight.data[:, -1] = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.layer(x.flatten(1))
        return outputs


def test_completeness_is_quantus_but_for_rounding() -> None:
    """Theirs asks whether the sum and f(x) - f(0) are the same float; ours by how much they differ."""
    quantus, side = import_quantus(), make_side(Sum(), "loo")
    theirs = quantus.Completeness(perturb_baseline=0.0, **quiet())
    whole = as_numpy(side.inputs.features.round())
    exact = 3 * whole * (np.arange(16) < 15)
    for scores, kept in ((exact, True), (exact + (np.arange(16) == 0), False)):
        assert evaluate(theirs, side, x_batch=whole.reshape(IMAGES), a_batch=scores.reshape(IMAGES)) == [kept] * COUNT
    assert measured(side, "completeness", "relative_error").max() < 1e-12


def test_null_player_is_what_quantus_counts() -> None:
    """Theirs counts features of which relevance and drop are not small together; ours measures the relevance."""
    quantus = import_quantus()
    theirs = quantus.NonSensitivity(features_in_step=1, perturb_baseline=0.0, **quiet())
    kept, broken = make_side(Sum(), "loo"), make_side(Sum(), "random")
    assert list(evaluate(theirs, kept)) == [0] * COUNT
    assert measured(kept, "null_player", "on_null").max() < 1e-12  # two sums of the same numbers, rounded
    scores = np.abs(broken.scores)  # a negative score is no relevance to Quantus
    assert list(evaluate(theirs, broken, a_batch=scores.reshape(IMAGES))) == [1] * COUNT
    assert measured(broken, "null_player", "on_null").min() > 0


class Convolution(nn.Module):
    """The small network with its first layer as a convolution, which Quantus can shift."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(1, 8, 4, dtype=torch.float64), net.layers[3]
        with torch.no_grad():
            for mine, parameter in zip(self.first.parameters(), net.layers[1].parameters(), strict=True):
                mine.copy_(parameter.reshape(mine.shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.last(torch.tanh(self.first(x.reshape(-1, 1, 4, 4)).flatten(1)))
        return outputs


def shift_all(arr: np.ndarray, input_shift: float, **_: Any) -> np.ndarray:
    return arr + input_shift


@pytest.mark.parametrize(("method", "kept"), [("gradient", True), ("gradient_x_input", False)])
def test_input_shift_is_quantus_input_invariance(method: str, kept: bool) -> None:
    """Theirs asks whether no score moves by more than 1e-4; ours by how much the largest moves.

    Quantus 0.6 leaves the first pixel where it was, so that no method is invariant by it; it is told to shift them all.
    """
    quantus, side = import_quantus(), make_side(method=method)
    shifted, moved = input_shift(copy.deepcopy(side.model.module), side.inputs, by=-1.0)
    gap = relative_gap(side.scores, side.rerun(Model(shifted), moved.inputs))
    twin = make_side(Convolution(Net()), method)
    np.testing.assert_allclose(twin.scores, side.scores, rtol=1e-9)
    theirs = quantus.InputInvariance(input_shift=-1, perturb_func=shift_all, **quiet())
    assert [*evaluate(theirs, twin)] == [kept] * COUNT
    assert not any(evaluate(quantus.InputInvariance(input_shift=-1, **quiet()), twin))
    assert (gap <= 1e-9).tolist() == [kept] * COUNT


POINTING: list[tuple[str, dict[str, Any], Any]] = [
    ("PointingGame", {}, lambda scores: pointing_game(scores, np.ones_like(TRUTH), TRUTH, 1)),
    (
        "AttributionLocalisation",
        {"positive_attributions": True},
        lambda s: relevance_mass(s, np.ones_like(TRUTH), TRUTH),
    ),
]


@pytest.mark.parametrize(("peer", "options", "ours"), POINTING)
def test_pointing_at_a_truth_is_quantus(peer: str, options: dict[str, Any], ours: Any) -> None:
    quantus, side = import_quantus(), make_side()
    theirs = evaluate(getattr(quantus, peer)(**options, **quiet()), side, s_batch=TRUTH.reshape(IMAGES))
    np.testing.assert_allclose(ours(side.scores), theirs, atol=1e-6)


def test_relevance_mass_is_quantus_where_nothing_is_negative() -> None:
    """Quantus divides by the sum of all relevance, Arras et al. by that of the positive."""
    quantus, side = import_quantus(), make_side()
    theirs, scores = quantus.RelevanceMassAccuracy(**quiet()), np.abs(side.scores)
    expected = evaluate(theirs, side, a_batch=scores.reshape(IMAGES), s_batch=TRUTH.reshape(IMAGES))
    np.testing.assert_allclose(relevance_mass(scores, np.ones_like(TRUTH), TRUTH), expected, atol=1e-6)
    signed = evaluate(theirs, side, s_batch=TRUTH.reshape(IMAGES))
    assert np.abs(signed - relevance_mass(side.scores, np.ones_like(TRUTH), TRUTH)).min() > 0.01
