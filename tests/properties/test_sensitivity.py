"""Which features matter alone, next to outputs of any size."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.model.inputs import Inputs
from axioms.properties.sensitivity import sensitivity
from tests.properties.sides import make_side


class Outputs(nn.Module):
    """A sum with weights, beside an output that is a constant."""

    def __init__(self, weights: list[float], beside: list[float]) -> None:
        super().__init__()
        self.weights = torch.tensor(weights, dtype=torch.float64)
        self.beside = torch.tensor(beside, dtype=torch.float64)

    def forward(self, x: Tensor, number: Tensor) -> Tensor:
        return torch.stack([x @ self.weights, self.beside[number]], dim=1)


def found(weights: list[float], beside: list[float], said: list[float]) -> Any:
    """Of features that are all one; the method says the same of each of its inputs."""
    count = len(beside)
    inputs = Inputs(torch.ones(count, len(weights), dtype=torch.float64), {"number": torch.arange(count)})
    scores = torch.tensor([said], dtype=torch.float64)
    method = lambda model, inputs, target: scores.expand(len(inputs), -1)  # noqa: E731
    return sensitivity(make_side(Outputs(weights, beside), inputs, method=method)[0])


def test_a_change_is_one_only_beside_the_largest_output_of_the_example() -> None:
    """A change of 1e-3 is nothing beside 1e9, and something beside 1e3; 1e-12 is nothing beside 1."""
    told = found([1.0, 1e-3, 1e-12], [0.0, 1e3, 1e9, -1e9], [1.0, 0.0, 0.0])
    assert told["missed"].tolist() == [0.5, 0.5, 0.0, 0.0]


def test_what_is_missed_is_a_share_of_what_matters() -> None:
    told = found([1.0, 2.0, -4.0, 0.0], [0.0], [0.0, -1.0, 0.0, 0.0])
    assert told["missed"].tolist() == [pytest.approx(2 / 3)]
    assert told["relative_error"].tolist() == [1.0]  # of 4, 4; of 1, 1; of 2, 3
    assert found([0.0, 0.0], [0.0], [0.0, 0.0])["missed"].tolist() == [0.0]


def test_relevance_is_weighed_against_the_change_of_its_own_feature() -> None:
    told = found([1.0, -1e-3], [0.0], [-1.1e-9, -0.9e-12])
    assert told["missed"].tolist() == [0.5]
    assert found([1.0, -1e-3], [0.0], [-0.9e-9, -1.1e-12])["missed"].tolist() == [0.5]
    assert found([4.0, -8.0], [0.0], [5.0, -2.0])["relative_error"].tolist() == [6 / 8]
