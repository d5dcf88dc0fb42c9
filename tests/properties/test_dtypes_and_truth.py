"""Relevance in another dtype, and the ground truth of sentences, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.properties.helpers.truth import agreement_of, places, score
from axioms.properties.precision import precision, scores_in
from axioms.properties.randomization import complexity, randomization
from tests.properties.sides import POINTS, TARGET, Three, make_side, points


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_amplification_is_in_units_of_the_rounding(dtype: Any) -> None:
    side, _ = points()
    found = precision(side, dtype=dtype)
    lower = getattr(torch, dtype)
    computed, rounded = scores_in(side, lower), scores_in(side, lower, torch.float64)
    exact = side.scores
    for row, target in enumerate(TARGET):
        output = abs(float(side.outputs[row, target]))
        unit = torch.finfo(lower).eps / 2
        least = max(np.abs(rounded[row] - exact[row]).max(), unit * max(np.abs(exact[row]).max(), output))
        off = np.abs(computed[row] - exact[row]).max()
        assert found["amplification"][row] == pytest.approx(off / least)
        size = max(np.abs(computed[row]).max(), np.abs(exact[row]).max())
        assert found["relative_gap"][row] == pytest.approx(off / size)
    assert next(side.model.module.parameters()).dtype == torch.float64


def test_the_output_and_the_largest_score_both_say_what_a_unit_is() -> None:
    """One is large where the scores are small, and the other way round."""

    def sizes(inputs: Any, value: float) -> Tensor:
        """Of each example another."""
        return value * torch.where(inputs.features[:, 0].double() > 0, 1.0, 0.5).double()

    def constant(value: float) -> Any:
        def method(model: Any, inputs: Any, target: Any) -> Tensor:
            off = 0.0 if inputs.features.dtype == torch.float64 else 2.0**-20
            row = torch.tensor([1.0, 1 / 1024, 0.0, 0.0], dtype=torch.float64)
            return row * sizes(inputs, value)[:, None] + off

        return method

    for value in (2.0**-10, 2.0**10):
        side, _ = points(method=constant(value))
        output = np.abs(side.outputs[np.arange(3), TARGET])
        found = precision(side)["amplification"]
        largest = np.maximum(sizes(side.inputs, value).numpy(), output)
        np.testing.assert_allclose(found, 2.0**-20 / (2.0**-24 * largest))


def sentence(length: int, words: list[int], truth: list[int]) -> Any:
    return SimpleNamespace(length=length, words=words, truth=truth)


def test_which_tokens_compete_and_which_are_the_subjects() -> None:
    agreement = SimpleNamespace(aligned=[sentence(5, [1, 2, 3], [2]), sentence(4, [1, 2], [1, 2])])
    side: Any = SimpleNamespace(data=SimpleNamespace(agreement=agreement, width=6))
    candidates, truth = places(side, special_tokens=False)
    assert candidates.astype(int).tolist() == [[0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert truth.astype(int).tolist() == [[0, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert places(side, special_tokens=True)[0].astype(int).tolist() == [[1] * 5 + [0], [1] * 4 + [0] * 2]
    side = SimpleNamespace(
        data=SimpleNamespace(agreement=agreement, width=None), inputs=SimpleNamespace(features=np.zeros((2, 5)))
    )
    assert places(side, special_tokens=False)[0].shape == (2, 5)
    for data in (None, SimpleNamespace(agreement=None)):
        with pytest.raises(InputError, match="sentences of the agreement benchmark"):
            agreement_of(SimpleNamespace(data=data))  # type: ignore[arg-type]
    scores = np.array([[9.0, 1.0, 3.0, 5.0, 9.0, 9.0], [0.0, -1.0, 2.0, 0.0, 0.0, 0.0]])
    found = score(scores, candidates, truth, 1)
    assert found["pg"].tolist() == [0.0, 1.0]
    assert found["mrr"].tolist() == [0.5, 1.0]
    assert found["rma"].tolist() == [3 / 9, 1.0]
    assert found["pta"].tolist() == [1 / 3, 0.5]
    assert score(scores, candidates, truth, 2)["pg"].tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="a k of at least 1, not 0"):
        score(scores, candidates, truth, 0)


@pytest.mark.parametrize("order", ["cascading", "bottom_up", "independent"])
def test_layers_are_randomized_in_their_order(order: Any) -> None:
    import copy

    from axioms.properties.helpers.correlations import cosine, spearman
    from axioms.properties.helpers.layers import randomize

    side, _ = points()
    found = randomization(side, order=order, seed=2)
    steps = [("last", 0), ("first", 1)]
    module = Three()
    maps = []
    for name, number in steps[::-1] if order == "bottom_up" else steps:
        module = Three() if order == "independent" else copy.deepcopy(module)
        randomize(module.get_submodule(name), 2 * 1_000_003 + number)
        maps.append(make_side(module, side.inputs, TARGET)[0].scores)
    for place, scores in enumerate(maps):
        np.testing.assert_allclose(found["spearman_by_layer"][:, place], spearman(side.scores, scores))
        np.testing.assert_allclose(found["cosine_by_layer"][:, place], cosine(side.scores, scores))
    np.testing.assert_allclose(found["cosine"], cosine(side.scores, maps[-1]))
    np.testing.assert_allclose(found["spearman"], spearman(side.scores, maps[-1]))
    every = Three()
    for name, number in steps:
        randomize(every.get_submodule(name), 2 * 1_000_003 + number)
    last = make_side(every, side.inputs, TARGET)[0].scores if order != "bottom_up" else maps[-1]
    counted = np.ones((3, 4), dtype=bool)
    before, after = complexity(side.scores, counted, 100), complexity(last, counted, 100)
    np.testing.assert_allclose(found["complexity_rise"], (after - before) / before)
    for wrong in ({"smooth": 0}, {"noise": 0.0}, {"bins": 1}):
        with pytest.raises(InputError, match="at least two bins"):
            randomization(side, **wrong)
    smoothed = randomization(side, order=order, smooth=3, seed=2, bins=2)
    assert not np.allclose(smoothed["cosine"], found["cosine"])


def test_the_entropy_of_a_histogram() -> None:
    scores = np.array([[0.0, 0.0, 1.0, 1.0, 9.0], [0.0, 1.0, 2.0, 3.0, 9.0]])
    counted = np.array([[True] * 4 + [False], [True] * 4 + [False]])
    np.testing.assert_allclose(complexity(scores, counted, 2), [np.log(2), np.log(2)])
    np.testing.assert_allclose(complexity(scores, counted, 4), [np.log(2), np.log(4)])
    flat, _ = points(method=lambda model, inputs, target: torch.ones_like(inputs.features))
    assert np.ma.getmaskarray(randomization(flat)["complexity_rise"]).all()
    assert len(POINTS) == 3


def test_outputs_that_moved_by_more_than_rounding() -> None:
    from axioms.properties.purity import _close

    before = torch.tensor([1.0, -100.0, 0.0, float("nan")], dtype=torch.float64)
    assert _close(before.clone(), before)
    assert _close(before * (1 + 5e-7), before)
    assert not _close(before * (1 + 5e-6), before)
    assert not _close(before + 1e-9, before)  # nothing is near to zero but zero
