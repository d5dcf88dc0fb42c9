"""Each example has numbers of its own, whatever the others are, and each metric is what its formula says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from axioms.model.inputs import Inputs
from axioms.properties.completeness import completeness
from axioms.properties.conservation import conservation
from axioms.properties.insertion_deletion import insertion_deletion
from axioms.properties.known_answer import known_answer
from axioms.properties.loo_correlation import loo_correlation
from axioms.properties.normalized_aopc import normalized_aopc
from axioms.properties.null_player import null_player
from axioms.properties.perturbation import perturbation
from axioms.properties.sensitivity import sensitivity
from axioms.properties.symmetry import symmetry
from axioms.properties.target_sensitivity import target_sensitivity
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.modules.known import Answers
from tests.properties.sides import POINTS, TARGET, Three, make_side

SIZES = torch.tensor([[1e-3], [1.0], [50.0]], dtype=torch.float64)
"""Examples of very different size, so that a number of one of them is none of another's."""
ALONE: dict[str, Callable[..., Any]] = {
    "completeness": completeness,
    "conservation": conservation,
    "insertion_deletion": insertion_deletion,
    "loo_correlation": loo_correlation,
    "normalized_aopc": normalized_aopc,
    "null player": lambda side: null_player(side, by="removal"),
    "perturbation": perturbation,
    "sensitivity": sensitivity,
    "symmetry": lambda side: symmetry(side, by="removal"),
    "target_sensitivity": target_sensitivity,
}


class Twins(nn.Module):
    """Two outputs of four features, of which the first two may change places and the last does nothing."""

    def forward(self, x: Tensor) -> Tensor:
        a, b, c, _ = x.unbind(1)
        return torch.stack([torch.tanh(a + b) + a * b * c, c - a - b], dim=1)


def lopsided(model: Any, inputs: Inputs, target: Any) -> Tensor:
    """Relevance that is not the same of the twins, nor nothing where a feature does nothing."""
    return inputs.features**2 + torch.tensor([1.0, -2.0, 0.5, 0.1], dtype=torch.float64) * inputs.features


@pytest.mark.parametrize("name", ALONE)
def test_an_example_has_the_same_numbers_alone_and_among_others(name: str) -> None:
    features, target = POINTS * SIZES, [0, 1, 0]
    features[:, 1] = features[:, 0]  # twins
    together = ALONE[name](make_side(Twins(), Inputs(features), target, lopsided)[0])
    for row in range(3):
        side, _ = make_side(Twins(), Inputs(features[row : row + 1]), target[row : row + 1], lopsided)
        alone = ALONE[name](side)
        for metric, numbers in together.items():
            if np.ndim(numbers) > 0:
                np.testing.assert_allclose(numbers[row], alone[metric][0], rtol=1e-9, err_msg=metric)


def test_the_largest_interaction_of_any_pair_counts() -> None:
    class Known(Three):
        def answers(self, features: Tensor) -> Answers:
            interactions = np.zeros((3, 4, 4))
            interactions[0, 0, 1] = interactions[0, 1, 0] = -2.0
            interactions[2, 2, 3] = interactions[2, 3, 2] = 0.5
            return Answers(loo=np.ones((3, 4)), shapley=2 * np.ones((3, 4)), interactions=interactions)

    def twos(model: Any, inputs: Inputs, target: Any) -> Tensor:
        return 2 * torch.ones_like(inputs.features)

    side, _ = make_side(Known(), Inputs(POINTS.clone()), TARGET, twos)
    found = known_answer(side)
    assert found["interaction"].tolist() == [2.0, 0.0, 0.5]
    assert found["relative_gap"].tolist() == [0.0, 0.0, 0.0]
    assert known_answer(side, of="loo")["relative_gap"].tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("weights", list(itertools.permutations((5.0, 2.0, -1.0))))
def test_the_extremes_are_those_of_all_orders(weights: tuple[float, ...]) -> None:
    """Whichever feature has to go first, second or last."""
    model = Expression(lambda a, b, c: weights[0] * a + weights[1] * b + weights[2] * c + a * b)
    side, _ = make_side(model, Inputs(torch.ones(1, 3, dtype=torch.float64)))

    def output(there: set[int]) -> float:
        return sum(weights[feature] for feature in there) + float({0, 1} <= there)

    means = []
    for order in itertools.permutations(range(3)):
        left = [set(range(3)) - set(order[: count + 1]) for count in range(3)]
        means.append(np.mean([output({0, 1, 2}) - output(there) for there in left]))
    found = normalized_aopc(side)
    assert found["lowest"][0] == pytest.approx(min(means))
    assert found["highest"][0] == pytest.approx(max(means))
