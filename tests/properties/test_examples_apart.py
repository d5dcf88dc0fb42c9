"""Each example has numbers of its own, whatever the others are, and each metric is what its formula says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import InputError, NotDefined
from axioms.model.inputs import Inputs, read_inputs
from axioms.properties import chance as chance_module
from axioms.properties.attention_flatness import entropies, normalized_entropy
from axioms.properties.completeness import completeness
from axioms.properties.conservation import conservation
from axioms.properties.helpers.games import MOST_PLAYERS, coalitions
from axioms.properties.helpers.layers import randomize
from axioms.properties.implementation_invariance import implementation_invariance
from axioms.properties.insertion_deletion import insertion_deletion
from axioms.properties.known_answer import known_answer
from axioms.properties.loo_correlation import loo_correlation
from axioms.properties.normalized_aopc import normalized_aopc
from axioms.properties.null_player import null_player
from axioms.properties.padding_invariance import padding_invariance
from axioms.properties.perturbation import perturbation
from axioms.properties.sensitivity import sensitivity
from axioms.properties.symmetry import symmetry
from axioms.properties.target_sensitivity import target_sensitivity
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.modules.known import Answers
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import POINTS, TARGET, Three, make_side, points

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


def test_the_gap_of_twins_is_a_share_of_their_own_examples_largest_relevance() -> None:
    features = torch.tensor([[1.0, 1.0, 2.0, 1.0], [100.0, 100.0, 100.0, 1.0]], dtype=torch.float64)

    def said(model: Any, inputs: Inputs, target: Any) -> Tensor:
        rows = torch.tensor([[1.0, 2.0, 4.0, 0.0], [100.0, 300.0, -1000.0, 0.0]], dtype=torch.float64)
        return rows[: len(inputs)] if len(inputs) == 2 else rows[:1]

    side, _ = make_side(Expression(lambda a, b, c, d: torch.tanh(a * b) + c), Inputs(features), method=said)
    assert symmetry(side, by="removal")["relative_gap"].tolist() == [0.25, 0.2]


def test_a_change_that_is_nothing_beside_the_largest_output_matters_not() -> None:
    class Large(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([1e-3 * x[:, 0], 1e9 + 0 * x[:, 0], 0 * x[:, 0]], dim=1)

    def nothing(model: Any, inputs: Inputs, target: Any) -> Tensor:
        return 0 * inputs.features

    side, _ = make_side(Large(), Inputs(torch.ones(1, 2, dtype=torch.float64)), [0], nothing)
    assert not sensitivity(side)["missed"][0] > 0  # 1e-3 of 1e9 is rounding

    class Small(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([1e-3 * x[:, 0], 1.0 + 0 * x[:, 0], 0 * x[:, 0]], dim=1)

    side, _ = make_side(Small(), Inputs(torch.ones(1, 2, dtype=torch.float64)), [0], nothing)
    assert sensitivity(side)["missed"].tolist() == [1.0]


def test_the_maps_of_two_models_are_compared_example_by_example() -> None:
    from axioms.properties.helpers.correlations import pearson, spearman

    def left(model: Any, inputs: Inputs, target: Any) -> Tensor:
        return inputs.features

    def right(model: Any, inputs: Inputs, target: Any) -> Tensor:
        return inputs.features * torch.tensor([1.0, 0.5, -3.0, -2.0], dtype=torch.float64) - 1.0

    pair: Any = SimpleNamespace(left=points(method=left)[0], right=points(method=right)[0])
    found = implementation_invariance(pair)
    a = POINTS.numpy()
    b = a * [1.0, 0.5, -3.0, -2.0] - 1.0
    gap = np.abs(a - b).max(axis=1) / np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1))
    np.testing.assert_allclose(found["relative_gap"], gap)
    flips = np.sign(a.sum(axis=1)) * np.sign(b.sum(axis=1))
    assert set(flips) == {-1.0, 1.0}  # of which both kinds are here
    np.testing.assert_allclose(found["pearson"], pearson(a, b))
    np.testing.assert_allclose(found["pearson_sum_normalized"], flips * pearson(a, b))
    np.testing.assert_allclose(found["spearman"], spearman(a, b))
    assert found["sign_flipped"].tolist() == (flips < 0).astype(float).tolist()
    assert found["undefined"].tolist() == [0.0, 0.0, 0.0]


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


def text_side(method: Callable[..., Any]) -> Any:
    ids = torch.tensor([[5, 9, 12, 30], [11, 4, 17, 33]])
    model = tiny(architecture="bert").double()
    inputs = read_inputs(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return make_side(model, inputs, [0, 1], method)[0]


@pytest.mark.parametrize("where", ["left", "right"])
@pytest.mark.parametrize("token", [0, 1, 2])
def test_relevance_on_any_token_of_the_padding_counts(where: Any, token: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the relevance of the original tokens is compared, whichever side the padding is on."""

    def said(model: Any, inputs: Inputs, target: Any) -> Tensor:
        length = inputs.features.shape[1]
        scores = torch.arange(1.0, 5.0, dtype=torch.float64).repeat(len(inputs), 1)
        if length == 4:
            return scores
        padding = torch.zeros(len(inputs), 3, dtype=torch.float64)
        padding[:, token] = 2.0
        return torch.cat([padding, scores] if where == "left" else [scores, padding], dim=1)

    side = text_side(said)
    outputs = side.side.outputs
    monkeypatch.setattr("axioms.subjects.built.outputs_of", lambda *given: outputs)
    found = padding_invariance(side, by=3, side=where)
    assert found["relative_gap"].tolist() == [0.0, 0.0]
    assert found["on_padding"].tolist() == [0.5, 0.5]


def test_padding_that_one_example_sees_is_another_input(monkeypatch: pytest.MonkeyPatch) -> None:
    side = text_side(lambda model, inputs, target: torch.ones(inputs.features.shape[:2], dtype=torch.float64))
    moved = side.side.outputs.clone()
    moved[1] *= 1.5
    monkeypatch.setattr("axioms.subjects.built.outputs_of", lambda *given: moved)
    with pytest.raises(NotDefined, match=r"move by 0\.5 of themselves"):
        padding_invariance(side)
    with pytest.raises(InputError, match="at least one token of padding, not 0"):
        padding_invariance(side, by=0)


def test_chance_has_the_deviation_of_a_sample_over_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates, truth = np.ones((2, 4), dtype=bool), np.array([[True, False, False, False], [False, True, True, False]])
    monkeypatch.setattr(chance_module, "places", lambda side, special: (candidates, truth))
    drawn: list[np.ndarray] = []

    def score(noise: np.ndarray, *given: Any) -> dict[str, np.ndarray]:
        drawn.append(noise)
        return dict.fromkeys(chance_module.SCORES, noise.mean(axis=1))

    monkeypatch.setattr(chance_module, "score", score)
    found = chance_module.chance(None, draws=4, seed=3)  # type: ignore[arg-type]
    means = [noise.mean() for noise in drawn]
    assert len(means) == 4
    assert np.abs(drawn).max() > 0.5
    for name in chance_module.SCORES:
        assert found[name] == pytest.approx(np.mean(means))
        assert found[f"{name}_sd"] == pytest.approx(np.std(means, ddof=1))
    again = np.random.default_rng(3).uniform(-1, 1, (4, 2, 4))
    np.testing.assert_array_equal(np.stack(drawn), again)
    with pytest.raises(InputError, match="at least two draws, not 1"):
        chance_module.chance(None, draws=1)  # type: ignore[arg-type]


def test_the_entropy_of_a_layer_is_the_mean_over_its_attentions(monkeypatch: pytest.MonkeyPatch) -> None:
    from axioms.engine.handlers.observe import Attention

    allowed = torch.ones(3, 1, 2, 2, dtype=torch.bool)

    def attention(path: str, share: float) -> Attention:
        return Attention(path, torch.tensor([share, 1 - share]).expand(3, 1, 2, 2), allowed)

    seen = [attention("layers.0.self", 0.5), attention("layers.0.cross", 0.9), attention("layers.1.self", 0.7)]
    monkeypatch.setattr(
        "axioms.engine.handlers.observe.observe",
        lambda model, batch: SimpleNamespace(
            attentions=[Attention(one.path, one.weights[: len(batch)], one.allowed[: len(batch)]) for one in seen]
        ),
    )
    side, _ = points()
    one, two, three = (float(normalized_entropy(each, side.inputs)[0]) for each in seen)
    np.testing.assert_allclose(entropies(side, (1, 2)), [[(one + two) / 2, three]] * 3)
    with pytest.raises(InputError, match="no attention weights in layer 3"):
        entropies(side, (3,))


def test_all_subsets_of_as_many_features_as_can_be_tried() -> None:
    subsets = coalitions(MOST_PLAYERS)
    assert subsets.shape == (2**MOST_PLAYERS, MOST_PLAYERS)
    assert len({tuple(row) for row in subsets.tolist()}) == 2**MOST_PLAYERS
    assert coalitions(2).tolist() == [[False, False], [True, False], [False, True], [True, True]]
    with pytest.raises(InputError, match="at most 12"):
        coalitions(MOST_PLAYERS + 1)


def test_what_lies_inside_a_module_is_not_randomized_with_it() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own, self.inner = nn.Parameter(torch.arange(6.0)), nn.Linear(2, 2)

    module = Outer()
    before, inner = module.own.detach().clone(), module.inner.weight.detach().clone()
    randomize(module, 0)
    assert not torch.equal(module.own, before)
    assert torch.equal(module.inner.weight, inner)


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
