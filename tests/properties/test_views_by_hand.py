"""Axioms on numbers that are given, without a model: what they divide, and of which features they take the largest."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from axioms.core.errors import InputError, NotDefined
from axioms.properties.helpers.games import coalitions
from axioms.properties.helpers.truth import SCORES, score
from axioms.properties.helpers.units import Units
from axioms.properties.implementation_invariance import implementation_invariance
from axioms.properties.known_answer import known_answer
from axioms.properties.padding_invariance import padding_invariance
from axioms.properties.symmetry import _difference


def test_a_difference_is_a_share_of_the_examples_own_largest_relevance() -> None:
    scores = np.array([[1.0, 2.0, -4.0], [10.0, 30.0, -40.0]])
    np.testing.assert_allclose(_difference(scores, 0, 1), [0.25, 0.5])


def test_the_interaction_is_the_largest_of_any_pair() -> None:
    interactions = np.array([[[0.0, 3.0], [-5.0, 0.0]], [[0.0, 0.5], [0.25, 0.0]]])
    answers = SimpleNamespace(shapley=np.ones((2, 2)), loo=np.zeros((2, 2)), interactions=interactions)
    module = SimpleNamespace(answers=lambda features: answers)
    side: Any = SimpleNamespace(
        scores=np.ones((2, 2)), model=SimpleNamespace(module=module), inputs=SimpleNamespace(features=None)
    )
    np.testing.assert_allclose(known_answer(side)["interaction"], [5.0, 0.5])
    np.testing.assert_allclose(known_answer(side)["relative_gap"], [0.0, 0.0])
    np.testing.assert_allclose(known_answer(side, of="loo")["relative_gap"], [1.0, 1.0])


def padded(scores: Any, moved: Any, *, by: int, side: Any) -> dict[str, Any]:
    plain = torch.tensor([1.0, 1.0], dtype=torch.float64)
    view: Any = SimpleNamespace(
        bench=SimpleNamespace(remember=lambda key, compute: (None, torch.tensor(moved, dtype=torch.float64))),
        target=lambda outputs: outputs,
        side=SimpleNamespace(outputs=plain),
        inputs=SimpleNamespace(features=plain),
        rerun=lambda inputs: np.array(scores),
        gap_to=lambda original: original,
    )
    return padding_invariance(view, by=by, side=side)


def test_padding_is_the_last_tokens_or_the_first_and_the_largest_relevance_on_it_counts() -> None:
    rows = [[8.0, 4.0, 2.0, 1.0], [-1.0, -2.0, -5.0, -10.0]]
    right, left = (padded(rows, [1.0, 1.0], by=2, side=side) for side in ("right", "left"))
    np.testing.assert_allclose(right["on_padding"], [0.25, 1.0])
    np.testing.assert_allclose(left["on_padding"], [1.0, 0.2])
    np.testing.assert_allclose(right["relative_gap"], [[8, 4], [-1, -2]])
    np.testing.assert_allclose(left["relative_gap"], [[2, 1], [-5, -10]])


def test_one_example_whose_output_sees_the_padding_is_enough_to_refuse() -> None:
    with pytest.raises(NotDefined, match="another input for this model"):
        padded([[1.0, 1.0]] * 2, [1.0, 1.1], by=1, side="right")


def test_maps_that_are_divided_by_their_sums_correlate_with_the_sign_of_both() -> None:
    generator = np.random.default_rng(0)
    left, right = generator.normal(size=(2, 6, 5))
    units = Units(np.broadcast_to(np.arange(5), (6, 5)))
    pair: Any = SimpleNamespace(
        left=SimpleNamespace(units=lambda: units, scores=left), right=SimpleNamespace(scores=right)
    )
    found = implementation_invariance(pair)
    for example in range(6):
        one, other = left[example], right[example]
        wanted = np.corrcoef(one / one.sum(), other / other.sum())[0, 1]
        assert found["pearson_sum_normalized"][example] == pytest.approx(wanted)
        plain = np.corrcoef(one, other)[0, 1]
        assert found["pearson"][example] == pytest.approx(plain)
        assert found["sign_flipped"][example] == (np.sign(plain) != np.sign(wanted))


def test_the_random_baseline_has_the_mean_and_the_deviation_of_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("axioms.properties.chance")
    candidates = np.ones((3, 6), dtype=bool)
    truth = np.zeros((3, 6), dtype=bool)
    truth[[0, 1, 2], [1, 4, 2]] = True
    monkeypatch.setattr(module, "places", lambda side, special_tokens: (candidates, truth))
    side: Any = None
    found = module.chance(side, k=2, draws=4, seed=3)
    noise = np.random.default_rng(3).uniform(-1, 1, (4, 3, 6))
    for name in SCORES:
        means = [float(score(draw, candidates, truth, 2)[name].mean()) for draw in noise]
        center = sum(means) / 4
        assert found[name] == pytest.approx(center)
        assert found[f"{name}_sd"] == pytest.approx((sum((mean - center) ** 2 for mean in means) / 3) ** 0.5)


def test_all_subsets_of_up_to_twelve_players_are_tried() -> None:
    assert coalitions(12).shape == (4096, 12)
    assert coalitions(2).tolist() == [[False, False], [True, False], [False, True], [True, True]]
    with pytest.raises(InputError, match="at most 12"):
        coalitions(13)
