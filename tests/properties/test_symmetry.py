"""Twins in examples whose relevance is of another size, one by one and several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.model.inputs import Inputs
from axioms.properties.symmetry import symmetry
from axioms.subjects.models.modules import Expression
from tests.properties.sides import make_side

SAID = torch.tensor([[1.0, 3.0, -4.0, 2.0], [100.0, 150.0, 150.0, -200.0]], dtype=torch.float64)


def side(function: Any, scores: Tensor = SAID) -> Any:
    features = torch.tensor([[1.0, 1.0, 1.0, 2.0], [2.0, 2.0, 2.0, 1.0]], dtype=torch.float64)
    return make_side(Expression(function), Inputs(features), method=lambda *_: scores.clone())[0]


@pytest.mark.parametrize("by", ["function", "removal"])
def test_a_gap_is_a_share_of_the_largest_relevance_of_its_own_example(by: Any) -> None:
    found = symmetry(side(lambda a, b, c, d: torch.tanh(a + b) + 2 * c * d + d), by=by)
    assert found["pairs"].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(found["relative_gap"], [2 / 4, 50 / 200])


@pytest.mark.parametrize("by", ["function", "removal"])
def test_the_largest_gap_of_several_pairs_counts(by: Any) -> None:
    """Of three that may change places there are three pairs; the largest is between the last two, or the first."""
    found = symmetry(side(lambda a, b, c, d: torch.tanh(a + b + c) + 3 * d), by=by)
    assert found["pairs"].tolist() == [3.0, 3.0]
    np.testing.assert_allclose(found["relative_gap"], [7 / 4, 50 / 200])


def test_by_function_the_second_gets_the_value_of_the_first() -> None:
    def features(model: Any, inputs: Inputs, target: Any) -> Tensor:
        return inputs.features * torch.tensor([1.0, 1.0, 1.5, 1.0])

    x = torch.tensor([[2.0, 7.0, 4.0, 0.0]], dtype=torch.float64)
    model = Expression(lambda a, b, c, d: a + torch.tanh(b * c) + 5 * d)
    found = symmetry(make_side(model, Inputs(x), method=features)[0])
    np.testing.assert_allclose(found["relative_gap"], [3.5 / 10.5])
    assert x.tolist() == [[2.0, 7.0, 4.0, 0.0]]
