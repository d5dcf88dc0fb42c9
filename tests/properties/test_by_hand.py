"""Axioms against loops over examples, features and sets, each written as its formula is printed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from axioms.core.errors import InputError, NotDefined
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.removals import Removal
from axioms.properties.attention_flatness import normalized_entropy, rank_correlation
from axioms.properties.batch_invariance import batch_invariance
from axioms.properties.cost import cost
from axioms.properties.faithfulness_correlation import faithfulness_correlation
from axioms.properties.helpers.accounts import accounts_of
from axioms.properties.helpers.games import game, is_nothing, marginals
from axioms.properties.helpers.layers import layers_of, randomize, representations
from axioms.properties.helpers.probing import ignored_features, interchangeable_features
from axioms.properties.helpers.rationales import rationale_drops
from axioms.properties.helpers.subsets import random_removals
from axioms.properties.infidelity import infidelity
from axioms.properties.insertion_deletion import insertion_deletion
from axioms.properties.lds import lds
from axioms.properties.ledger import ledger
from axioms.properties.linearity import linearity
from axioms.properties.local_lipschitz import local_lipschitz
from axioms.properties.loo_correlation import loo_correlation
from axioms.properties.max_sensitivity import max_sensitivity
from axioms.properties.normalized_aopc import normalized_aopc
from axioms.properties.null_player import null_player
from axioms.properties.path_antisymmetry import path_antisymmetry
from axioms.properties.perturbation import perturbation
from axioms.properties.random_logit import random_logit
from axioms.properties.relative_stability import relative_stability
from axioms.properties.sensitivity import sensitivity
from axioms.properties.sensitivity_n import sensitivity_n
from axioms.properties.symmetry import symmetry
from axioms.properties.target_sensitivity import target_sensitivity
from axioms.subjects.models.modules import Expression
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import POINTS, TARGET, Three, make_side, points, value, without

ROWS = range(len(POINTS))
X = POINTS.numpy()


def probabilities(rows: Any, target: int) -> np.ndarray:
    with torch.no_grad():
        found: np.ndarray = Three()(torch.as_tensor(np.asarray(rows))).softmax(1)[:, target].numpy()
    return found


@pytest.mark.parametrize("size", [None, 2, 0.5])
def test_random_sets_and_what_they_take(size: float | None) -> None:
    side, _ = points()
    sets = random_removals(side, samples=20, seed=3, size=size)
    assert sets.chosen.shape == (3, 20, 4)
    for row in ROWS:
        for number, chosen in enumerate(sets.chosen[row]):
            drop = value([X[row]], TARGET[row]) - value([without(X[row], chosen)], TARGET[row])
            assert sets.drop[row, number] == pytest.approx(drop[0], abs=1e-12)
            assert sets.relevance[row, number] == pytest.approx(side.scores[row][chosen].sum(), abs=1e-12)
    counts = sets.chosen.sum(axis=2)
    assert (counts == 2).all() if size is not None else 1.5 < counts.mean() < 2.5
    part = random_removals(make_part(1, 3)[0], samples=20, seed=3, size=size)
    np.testing.assert_array_equal(part.chosen, sets.chosen[1:])


def make_part(start: int, stop: int) -> Any:
    whole = Inputs(POINTS.clone())
    return make_side(Three(), whole.rows(start, stop), TARGET[start:stop])


def test_sets_that_cannot_be() -> None:
    side, _ = points()
    with pytest.raises(InputError, match="at least 2 samples, not 1"):
        random_removals(side, samples=1, seed=0)
    for size in (0, 5):
        with pytest.raises(InputError, match=f"sets of {size} units do not fit an example with 4"):
            random_removals(side, samples=2, seed=0, size=size)
    assert random_removals(side, samples=2, seed=0, size=4).chosen.all()
    assert (random_removals(side, samples=9, seed=0, size=0.01).chosen.sum(axis=2) == 1).all()
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match="a share above 0 and up to 1"):
            faithfulness_correlation(side, share=share)
    assert faithfulness_correlation(side, share=1.0)["undefined"].all()


def test_correlations_over_random_sets() -> None:
    side, _ = points()
    sets = random_removals(side, samples=100, seed=0, size=0.5)
    found = faithfulness_correlation(side, share=0.5)
    two = random_removals(side, samples=100, seed=0, size=2)
    pairs = sensitivity_n(side)
    half = random_removals(side, samples=64, seed=0)
    ranks, error = lds(side)["spearman"], infidelity(side)
    for row in ROWS:
        assert found["pearson"][row] == pytest.approx(stats.pearsonr(sets.relevance[row], sets.drop[row]).statistic)
        assert found["spearman"][row] == pytest.approx(stats.spearmanr(sets.relevance[row], sets.drop[row]).statistic)
        assert pairs["pearson"][row] == pytest.approx(stats.pearsonr(two.relevance[row], two.drop[row]).statistic)
        off = np.abs(two.relevance[row] - two.drop[row]).max() / np.abs(two.drop[row]).max()
        assert pairs["relative_error"][row] == pytest.approx(off)
        r, d = half.relevance[row], half.drop[row]
        assert ranks[row] == pytest.approx(stats.spearmanr(r, d).statistic)
        assert error["infidelity"][row] == pytest.approx(((r - d) ** 2).mean())
        assert error["relative"][row] == pytest.approx(((r - d) ** 2).mean() / (d**2).mean())
        best = (r @ d) / (r @ r)
        assert error["scaled"][row] == pytest.approx(((best * r - d) ** 2).mean())
    assert not found["undefined"].any()


class Constant(nn.Module):
    """Depends on nothing, or on the first feature alone."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([self.share * x[:, 0], 2 * self.share * x[:, 0]], dim=1) + 0 * x[:, :2]


def test_where_all_drops_are_the_same_there_is_no_correlation() -> None:
    side, _ = make_side(Constant(0.0), Inputs(POINTS.clone()))
    for found in (faithfulness_correlation(side), sensitivity_n(side), lds(side)):
        assert found["undefined"].tolist() == [1.0, 1.0, 1.0]
        for name in set(found) & {"pearson", "spearman"}:
            assert np.ma.getmaskarray(found[name]).all()
    side, _ = make_side(Constant(1.0), Inputs(POINTS.clone()))
    assert not sensitivity_n(side)["undefined"].any()


def test_leave_one_out_and_its_correlations() -> None:
    side, _ = points()
    found = loo_correlation(side)
    for row in ROWS:
        cut = [value([without(X[row], np.arange(4) == gone)], TARGET[row])[0] for gone in range(4)]
        loo = value([X[row]], TARGET[row])[0] - np.array(cut)
        np.testing.assert_allclose(side.loo[row], loo, atol=1e-12)
        scores = side.scores[row]
        r = stats.pearsonr(scores, loo).statistic
        assert found["pearson"][row] == pytest.approx(r)
        assert found["spearman"][row] == pytest.approx(stats.spearmanr(scores, loo).statistic)
        flipped = scores.sum() * loo.sum() < 0
        assert found["sign_flipped"][row] == flipped
        assert found["pearson_sum_normalized"][row] == pytest.approx(-r if flipped else r)
        assert found["division_change"][row] == pytest.approx(-2 * r if flipped else 0, abs=1e-12)
        gap = np.abs(scores - loo).max() / max(np.abs(scores).max(), np.abs(loo).max())
        assert found["relative_gap"][row] == pytest.approx(gap)
    assert not found["undefined"].any()


def test_walks_and_their_areas() -> None:
    """The most and the least relevant features go first; the ends of both ways are the same."""
    side, bench = points()
    found, curves = perturbation(side), insertion_deletion(side)
    for row in ROWS:
        order = np.argsort(-side.scores[row], kind="stable")
        values, chances = [], []
        for way in (order, np.argsort(side.scores[row], kind="stable")):
            steps = [without(X[row], np.isin(np.arange(4), way[:count])) for count in range(5)]
            values.append(value(steps, TARGET[row]))
            chances.append(probabilities(steps, TARGET[row]))
        assert found["morf"][row] == pytest.approx(values[0][1:].mean())
        assert found["lerf"][row] == pytest.approx(values[1][1:].mean())
        assert found["delta"][row] == pytest.approx(values[1][1:].mean() - values[0][1:].mean())
        assert found["aopc"][row] == pytest.approx(values[0][0] - values[0][1:].mean())
        grid = np.linspace(0, 1, 21)
        np.testing.assert_allclose(found["morf_curve"][row], np.interp(grid, np.linspace(0, 1, 5), values[0]))
        np.testing.assert_allclose(found["lerf_curve"][row], np.interp(grid, np.linspace(0, 1, 5), values[1]))
        areas = [((way[1:] + way[:-1]) / 2 * 0.25).sum() for way in chances]
        assert curves["deletion"][row] == pytest.approx(areas[0])
        assert curves["insertion"][row] == pytest.approx(areas[1])
        assert curves["difference"][row] == pytest.approx(areas[1] - areas[0])
        np.testing.assert_allclose(curves["deletion_curve"][row], np.interp(grid, np.linspace(0, 1, 5), chances[0]))
        np.testing.assert_allclose(
            curves["insertion_curve"][row], np.interp(grid, np.linspace(0, 1, 5), chances[1][::-1])
        )
    assert bench.told
    assert all(total == 3 and 0 < done <= 3 for done, total in bench.told)
    assert max(done for done, _ in bench.told) == 3
    two = perturbation(side, step=3)
    order = np.argsort(-side.scores[0], kind="stable")
    steps = [without(X[0], np.isin(np.arange(4), order[:count])) for count in (3, 4)]
    assert two["morf"][0] == pytest.approx(value(steps, TARGET[0]).mean())
    pairs = perturbation(side, chunk=2)
    sums = side.scores[0].reshape(2, 2).sum(axis=1)
    first = [0, 1] if sums[0] >= sums[1] else [2, 3]
    steps = [without(X[0], np.isin(np.arange(4), first)), np.zeros(4)]
    assert pairs["morf"][0] == pytest.approx(value(steps, TARGET[0]).mean())
    for wrong in ({"step": 0}, {"chunk": 0}):
        with pytest.raises(InputError):
            perturbation(side, **wrong)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("of", ["probability", "target"])
def test_the_most_relevant_are_taken_or_kept_alone(keep: bool, of: Any) -> None:
    side, _ = points()
    bins = [0.01, 0.3, 0.5, 1.0]
    found = rationale_drops(side, bins, of, keep=keep)
    read = probabilities if of == "probability" else value
    for row in ROWS:
        order = np.argsort(-side.scores[row], kind="stable")
        drops = []
        for count in (1, 2, 2, 4):
            top = np.isin(np.arange(4), order[:count])
            drops.append(read([X[row]], TARGET[row])[0] - read([without(X[row], top != keep)], TARGET[row])[0])
        assert found[row] == pytest.approx(np.mean(drops))
    for wrong in ([], [0.0], [1.1], [0.5, 1.1], [0.0, 0.5]):
        with pytest.raises(InputError, match="bins are shares above 0 and up to 1"):
            rationale_drops(side, wrong, of, keep=keep)


def single_output() -> Any:
    model = Expression(lambda a, b, c, d: a * b + c - d)
    return make_side(model, Inputs(POINTS.clone()))[0]


def test_what_needs_two_outputs_says_so() -> None:
    for axiom in (insertion_deletion, random_logit, target_sensitivity, linearity):
        with pytest.raises(InputError, match=r"two outputs|needs a model that has them"):
            axiom(single_output())
    with pytest.raises(InputError, match="a probability needs a model with at least two outputs"):
        rationale_drops(single_output(), [0.5], "probability", keep=True)
    assert len(rationale_drops(single_output(), [0.5], "target", keep=True)) == 3


def test_a_feature_alone() -> None:
    """Of x with one feature left, the change from nothing left, and what the method says."""
    side, _ = points()
    found = sensitivity(side)
    for row in ROWS:
        alone = [without(X[row], np.arange(4) != there) for there in range(4)]
        change = value(alone, TARGET[row]) - value([np.zeros(4)], TARGET[row])
        own = []
        for place, only in enumerate(alone):
            x = torch.tensor(only[None], requires_grad=True)
            (gradient,) = torch.autograd.grad(Three()(x)[0, TARGET[row]], x)
            own.append(only[place] * float(gradient[0, place]))
        assert found["relative_error"][row] == pytest.approx(np.abs(own - change).max() / np.abs(change).max())
    assert found["missed"].tolist() == [0.0, 0.0, 0.0]

    def blind(model: Any, inputs: Any, target: Any) -> Tensor:
        """Gives features 0 and 2 nothing."""
        return inputs.features * torch.tensor([0.0, 1.0, 0.0, 1.0])

    side, _ = points(method=blind)
    assert sensitivity(side)["missed"].tolist() == [0.5, 0.5, 0.5]


def test_every_order_of_features() -> None:
    side, _ = points()
    found = normalized_aopc(side)
    for row in ROWS:
        means = {}
        for order in itertools.permutations(range(4)):
            steps = [without(X[row], np.isin(np.arange(4), order[:count])) for count in range(1, 5)]
            means[order] = (value([X[row]], TARGET[row]) - value(steps, TARGET[row])).mean()
        mine = means[tuple(np.argsort(-side.scores[row], kind="stable"))]
        low, high = min(means.values()), max(means.values())
        assert found["aopc"][row] == pytest.approx(mine)
        assert found["lowest"][row] == pytest.approx(low)
        assert found["highest"][row] == pytest.approx(high)
        assert found["normalized_aopc"][row] == pytest.approx((mine - low) / (high - low))


def test_the_game_is_the_output_of_every_subset() -> None:
    side, _ = points()
    values = game(side)
    for row, subset in itertools.product(ROWS, range(16)):
        gone = [not subset >> place & 1 for place in range(4)]
        assert values[row, subset] == pytest.approx(value([without(X[row], gone)], TARGET[row])[0], abs=1e-12)
    for player in range(4):
        wanted = [values[:, s | 1 << player] - values[:, s] for s in range(16) if not s >> player & 1]
        np.testing.assert_allclose(marginals(values, player), np.stack(wanted, axis=1))
    rounding, values = np.array([[1e-8, 0.0], [1e-5, 0.0]]), np.array([[0.0, -1e6], [1e6, 0.0]])
    assert is_nothing(rounding, values).tolist() == [True, False]
    assert is_nothing(np.zeros((1, 2)), np.zeros((1, 2))).tolist() == [True]
    thirteen, _ = make_side(Constant(1.0), Inputs(torch.zeros(1, 13)))
    with pytest.raises(InputError, match="all subsets of 13 features are too many; at most 12"):
        game(thirteen)


@pytest.mark.parametrize("by", ["function", "removal"])
def test_null_players_and_twins(by: Any) -> None:
    """Of a function of a b + c, d does nothing, and a and b may change places."""
    model = Expression(lambda a, b, c, d: torch.tanh(a * b) + c)

    def said(model: Any, inputs: Any, target: Any) -> Tensor:
        return torch.tensor([[1.0, 3.0, -4.0, 0.5]], dtype=torch.float64).expand(len(inputs), 4)

    data = Inputs(torch.tensor([[1.0, 1.0, 2.0, 3.0], [2.0, 2.0, 0.0, 1.0]], dtype=torch.float64))
    side, _ = make_side(model, data, method=said)
    null = null_player(side, by=by)
    assert null["null_features"].tolist() == ([1.0, 1.0] if by == "function" else [1.0, 2.0])
    assert null["on_null"].tolist() == ([0.125, 0.125] if by == "function" else [0.125, 1.0])
    twins = symmetry(side, by=by)
    assert twins["relative_gap"][0] == 0.5
    assert twins["pairs"][0] == 1
    side, _ = make_side(Expression(lambda a, b, c, d: a + 2 * b + 3 * c + 4 * d), Inputs(data.features[:1]))
    for axiom in (null_player, symmetry):
        with pytest.raises(NotDefined):
            axiom(side, by=by)


def test_twins_in_one_example_are_enough() -> None:
    model = Expression(lambda a, b, c: a + b + torch.tanh(c))
    data = Inputs(torch.tensor([[1.0, 1.0, 5.0], [1.0, 2.0, 5.0]], dtype=torch.float64))
    side, _ = make_side(model, data, method=lambda *_: torch.tensor([[3.0, 1.0, -4.0]] * 2, dtype=torch.float64))
    found = symmetry(side, by="removal")
    assert found["pairs"].tolist() == [1.0, 0.0]
    assert found["relative_gap"].tolist() == [0.5, 0.0]


def test_what_matters_far_out_alone_is_seen() -> None:
    side, _ = make_side(Expression(lambda a, b: a + torch.relu(b - 9)), Inputs(torch.zeros(1, 2, dtype=torch.float64)))
    assert ignored_features(side).tolist() == [[False, False]]


def test_features_are_interchangeable_where_they_are_in_every_example() -> None:
    class Sometimes(nn.Module):
        def forward(self, x: Tensor, weight: Tensor) -> Tensor:
            return (x[:, 0] + weight * x[:, 1] + 5 * x[:, 2]).unsqueeze(1)

    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)
    always = make_side(Sometimes(), Inputs(x, {"weight": torch.ones(2, dtype=torch.float64)}))[0]
    assert interchangeable_features(always) == [(0, 1)]
    once = make_side(Sometimes(), Inputs(x, {"weight": torch.tensor([1.0, 2.0], dtype=torch.float64)}))[0]
    assert interchangeable_features(once) == []
    ignoring = make_side(Sometimes(), Inputs(x, {"weight": torch.tensor([0.0, 2.0], dtype=torch.float64)}))[0]
    assert ignored_features(ignoring).tolist() == [[False, True, False], [False, False, False]]
    wide = make_side(Constant(1.0), Inputs(torch.zeros(1, 65)))[0]
    with pytest.raises(InputError, match="65 features are too many to try each; at most 64"):
        ignored_features(wide)


def test_two_outputs_and_their_maps() -> None:
    side, _ = points()
    found = target_sensitivity(side)
    other = make_side(Three(), Inputs(POINTS.clone()), [(one + 1) % 3 for one in TARGET])[0].scores
    for row in ROWS:
        left, right = side.scores[row], other[row]
        gap = np.abs(left - right).max() / max(np.abs(left).max(), np.abs(right).max())
        assert found["relative_gap"][row] == pytest.approx(gap)
    assert found["same"].tolist() == [0.0, 0.0, 0.0]

    class Alike(nn.Module):
        """Two outputs that differ by a constant in some examples, and by a factor in others."""

        def forward(self, x: Tensor, alike: Tensor) -> Tensor:
            total = x.sum(1)
            return torch.stack([total, torch.where(alike, total + 1, 2 * total)], dim=1)

    def blind(model: Any, inputs: Any, target: Any) -> Tensor:
        return inputs.features

    some = Inputs(POINTS.clone(), {"alike": torch.tensor([False, False, True])})
    found = target_sensitivity(make_side(Alike(), some, [0, 0, 1], method=blind)[0])
    assert np.ma.getmaskarray(found["same"]).tolist() == [False, False, True]
    assert found["same"][:2].tolist() == [1.0, 1.0]
    with pytest.raises(NotDefined, match="both outputs change alike"):
        target_sensitivity(make_side(Alike(), some.rows(2, 3), method=blind)[0])


def test_another_output_is_drawn_for_each_example() -> None:
    side, _ = points(first=5)
    found = random_logit(side, seed=4)
    steps = [np.random.default_rng([4, 5 + row]).integers(1, 3) for row in ROWS]
    drawn = [(one + int(step)) % 3 for one, step in zip(TARGET, steps, strict=True)]
    other = make_side(Three(), Inputs(POINTS.clone()), drawn)[0].scores
    for row in ROWS:
        left, right = side.scores[row], other[row]
        assert found["cosine"][row] == pytest.approx(left @ right / np.sqrt((left @ left) * (right @ right)))
        assert found["spearman"][row] == pytest.approx(stats.spearmanr(left, right).statistic)


def test_a_sum_of_outputs_and_the_way_back() -> None:
    side, _ = points()
    assert linearity(side)["relative_gap"].max() < 1e-12

    def squared(model: Any, inputs: Any, target: Any) -> Tensor:
        return target(model(inputs)).square().unsqueeze(1) * torch.ones(1, 4)

    side, _ = points(method=squared)
    with torch.no_grad():
        f, g = (Three()(POINTS)[:, place].numpy() for place in (0, 1))
    whole, parts = (5 * f + 7 * g) ** 2, (5 * f**2, 7 * g**2)
    size = np.max([np.abs(whole), *map(np.abs, parts)], axis=0)
    np.testing.assert_allclose(linearity(side, a=5.0, b=7.0)["relative_gap"], np.abs(whole - sum(parts)) / size)
    side, _ = points(method=lambda model, inputs, target: inputs.features)
    assert path_antisymmetry(side)["relative_gap"].max() == 0
    side, _ = points(method=lambda model, inputs, target: inputs.features.abs())
    np.testing.assert_allclose(path_antisymmetry(side)["relative_gap"], 2.0)


@pytest.mark.parametrize("change", [{"slot": "inputs_embeds"}, {"removal": Removal(kind="mean_embedding")}])
def test_there_is_no_way_back_but_from_zero_and_of_what_a_model_is_given_first(change: Any) -> None:
    side, _ = make_side(Three(), replace(Inputs(POINTS.clone()), **change), TARGET)
    with pytest.raises(NotDefined, match="a change of origin is for features that are the model's first argument"):
        path_antisymmetry(side)


def test_neighbours_and_the_relevance_there() -> None:
    from axioms.properties.helpers.neighbours import neighbours

    side, _ = points()
    near = list(neighbours(side, samples=10, seed=0))
    lipschitz, largest, stable = local_lipschitz(side), max_sensitivity(side), relative_stability(side)
    names = layers_of(side.model.module)
    assert names == ["last", "first"]
    hidden = representations(side.model, side.inputs, names, 2)
    for row in ROWS:
        changes = np.array([np.linalg.norm(one.scores[row] - side.scores[row]) for one in near])
        moves = np.array([np.linalg.norm(one.features[row] - X[row]) for one in near])
        assert lipschitz["lipschitz"][row] == pytest.approx((changes / moves).max())
        assert largest["absolute"][row] == pytest.approx(changes.max())
        assert largest["relative"][row] == pytest.approx(changes.max() / np.linalg.norm(side.scores[row]))
        ratios: dict[str, list[Any]] = {"input": [], "representation": [], "output": []}
        for one in near:
            change = np.linalg.norm((side.scores[row] - one.scores[row]) / side.scores[row])
            other = representations(side.model, one.inputs, names, 2)[row]
            with torch.no_grad():
                outputs = Three()(one.inputs.features)[row].numpy()
            ratios["input"].append(change / np.linalg.norm((X[row] - one.features[row]) / X[row]))
            ratios["representation"].append(change / np.linalg.norm((hidden[row] - other) / hidden[row]))
            ratios["output"].append(change / np.linalg.norm(side.outputs[row] - outputs))
        for name, found in ratios.items():
            assert stable[name][row] == pytest.approx(max(found))


def test_layers_and_what_they_put_out() -> None:
    module, x = Three(), POINTS
    found = representations(make_side(module, Inputs(x))[0].model, Inputs(x), ["last", "first"], 2)
    with torch.no_grad():
        first = module.first(x)
        last = module.last(torch.tanh(first))
    np.testing.assert_allclose(found, torch.cat([first, last], dim=1).numpy())
    model = make_side(module, Inputs(x))[0].model

    class Pair(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return 2 * x, 3 * x

    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pair = Pair()

        def forward(self, x: Tensor, attention_mask: Tensor) -> Tensor:
            return self.pair(x)[0]

    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]])
    masked = Inputs(x, {"attention_mask": mask})
    hidden = representations(make_side(First(), masked)[0].model, masked, ["pair"], 2)
    np.testing.assert_allclose(hidden, (2 * x * mask).numpy())  # the first of several, and nothing at padding
    with pytest.raises(InputError, match=r"no module 'frist'. Did you mean 'first'"):
        representations(model, Inputs(x), ["frist"], 2)
    module.unused = nn.Linear(1, 1)
    with pytest.raises(InputError, match="called none of these modules"):
        representations(model, Inputs(x), ["unused"], 2)
    before = module.first.weight.detach().clone()
    randomize(module.first, 3)
    noise = torch.randn(5, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    torch.testing.assert_close(module.first.weight.data, before.mean() + before.std(correction=0) * noise)
    torch.testing.assert_close(module.last.weight, Three().last.weight)


def test_a_ledger_for_each_example_and_accounts_of_all() -> None:
    from axioms.core.registry import METHODS

    bert = tiny(architecture="bert")
    ids = torch.randint(3, 40, (3, 4), generator=torch.Generator().manual_seed(0))
    inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    side, bench = make_side(bert, inputs, method=METHODS.get("attnlrp").function)
    found = ledger(side)
    assert bench.told == [(1, 3), (2, 3), (3, 3)]
    kept = sum(found[name] for name in found if name != "unexplained")
    features = side.scores.sum(axis=1) / side.outputs[:, 0]
    np.testing.assert_allclose(kept + features, 1.0, atol=1e-9)
    assert found["unexplained"].max() < 1e-9
    shown = accounts_of(side)
    assert shown is not None
    assert shown["n"] == 3
    assert shown["output"] == pytest.approx(side.outputs[:, 0].sum())
    assert shown["features"] == pytest.approx(side.scores.sum())
    plain, _ = make_side(bert, inputs)
    assert accounts_of(plain) is None
    with pytest.raises(InputError, match="does not propagate relevance"):
        ledger(plain)


def test_rounds_of_timing() -> None:
    side, bench = points()
    runs: list[int] = []

    def noted(model: Any, inputs: Any, target: Any) -> Tensor:
        runs.append(len(inputs))
        return inputs.features

    found = cost(points(method=noted)[0], rounds=1)
    assert runs == [2]  # the first batch
    assert float(found["passes"]) > 0
    cost(side, rounds=3)
    assert bench.told == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(InputError, match="at least one round, not 0"):
        cost(side, rounds=0)


def test_the_entropy_of_attention() -> None:
    """Queries that are padding, or that see one key only, do not count."""
    from axioms.engine.handlers.observe import Attention

    weights = torch.tensor(
        [[[[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]], [[[1.0, 0, 0], [0.9, 0.1, 0], [0.2, 0.3, 0.5]]]]
    )
    seen = Attention("", weights, torch.ones(3, 3).tril().bool().expand(2, 1, 3, 3))
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])

    def entropy(*shares: float) -> float:
        return -sum(share * np.log(share) for share in shares) / np.log(len(shares))

    third = entropy(0.2, 0.3, 0.5)
    found = normalized_entropy(seen, Inputs(torch.zeros(2, 3, 1), {"attention_mask": mask}))
    np.testing.assert_allclose(found.numpy(), [(1 + third) / 2, entropy(0.9, 0.1)], rtol=1e-6)
    found = normalized_entropy(seen, Inputs(torch.zeros(2, 3, 1)))
    np.testing.assert_allclose(found.numpy(), [(1 + third) / 2, (entropy(0.9, 0.1) + third) / 2], rtol=1e-6)
    left, right = np.array([[1.0, 2, 3], [3, 4, 9]]), np.array([[1.0, 5, 3], [1, 1, 1]])
    wanted = stats.spearmanr(left.mean(axis=0), right.mean(axis=0)).statistic
    assert float(rank_correlation(left, right)) == pytest.approx(wanted)


def test_texts_have_units_that_are_candidates() -> None:
    """What is no candidate is neither ranked nor removed, and embeddings are removed whole."""
    bert = tiny(architecture="bert")
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": mask}, Removal(kind="zero_embedding"))
    side, _ = make_side(bert, inputs)
    for axiom in (sensitivity, loo_correlation, perturbation, infidelity, target_sensitivity, random_logit):
        found = axiom(side)
        assert all(len(values) == 2 for values in found.values())
    units = side.units()
    assert units.counts.tolist() == [6, 4]
    sets = random_removals(side, samples=8, seed=0)
    assert not sets.chosen[1, :, 4:].any()


def test_two_examples_make_a_batch() -> None:
    side, _ = points()
    assert batch_invariance(side)["relative_gap"].max() < 1e-12
    for alone in (make_part(0, 1)[0], points(batch_size=1)[0]):
        with pytest.raises((InputError, NotDefined)):
            batch_invariance(alone)
