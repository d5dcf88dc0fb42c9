"""A switch at every softmax: bypassed it is CP-LRP's rule, not bypassed AttnLRP's, at any epsilon."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge

from axioms.core.errors import InputError
from axioms.engine.composite import Composite, Entry, RuleRef
from axioms.engine.handlers.propagate import custom_functions, propagate
from axioms.engine.handlers.sweep import between, distinct, settings, sweep
from axioms.methods.lrp import attnlrp_composite
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target


class Attending(nn.Module):
    """One layer of attention, whose values are also gated by what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights = (self.query(x) @ self.key(x).transpose(1, 2)).softmax(-1)
        read = weights @ self.value(x)
        return x + read * torch.tanh(x) + torch.einsum("bij,bjk,bik->bik", weights, x, x)


class Layered(nn.Module):
    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Attending() for _ in range(layers))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


def inputs() -> Inputs:
    return Inputs(torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))


COMPOSITES: dict[str, Composite] = {
    "plain": attnlrp_composite(),
    "epsilon": attnlrp_composite(0.3),
    "products alone": attnlrp_composite().then(Entry("product", RuleRef("uniform", {"epsilon": 0.3}))),
    "linear alone": attnlrp_composite().then(Entry("linear", RuleRef("epsilon", {"epsilon": 0.3}))),
    "without options": attnlrp_composite().then(
        Entry("product", RuleRef("uniform")), Entry("linear", RuleRef("epsilon"))
    ),
    "no rule for linear maps": Composite(
        entry for entry in attnlrp_composite().entries if entry.kind in ("product", "softmax", "activation")
    ),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_sweep_is_one_propagation_for_each_setting(name: str) -> None:
    composite, model, target = COMPOSITES[name], Model(Layered().double()), Target(torch.tensor([0, 1]))
    swept = sweep(model, inputs(), target, composite, ["single", "front_to_back"], batch_size=1)
    assert swept.layers == (1, 2, 3)
    assert set(swept.scores) == set(distinct(["single", "front_to_back"], [1, 2, 3]))
    for layers, scores in swept.scores.items():
        bypassed = composite.then(Entry("softmax", RuleRef("stop"), layers=layers)) if layers else composite
        with model.at_rest():
            wanted = propagate(model, inputs(), target, bypassed).sum(2)
        torch.testing.assert_close(scores, wanted, rtol=1e-9, atol=1e-12)


def test_a_product_that_is_not_split_evenly_is_refused() -> None:
    composite = attnlrp_composite().then(Entry("product", RuleRef("signal_take_all")))
    with pytest.raises(InputError, match=r"softmax of 'layers.0' cannot be bypassed.*'signal_take_all'"):
        sweep(Model(Layered().double()), inputs(), Target(torch.tensor([0, 1])), composite, ["single"])
    without = Composite(entry for entry in attnlrp_composite().entries if entry.kind != "product")
    with pytest.raises(InputError, match="with the rule 'none'"):
        sweep(Model(Layered().double()), inputs(), Target(torch.tensor([0, 1])), without, ["single"])


def test_progress_ends_with_all_examples() -> None:
    told: list[tuple[int, int]] = []
    three = Inputs(inputs().features.repeat(2, 1, 1)[:3])
    target = Target(torch.tensor([0, 1, 0]))
    sweep(
        Model(Layered(1).double()),
        three,
        target,
        attnlrp_composite(),
        ["single"],
        batch_size=2,
        progress=lambda *done: told.append(done),
    )
    assert told == [(2, 3), (3, 3)]


def test_settings_by_hand() -> None:
    layers = [2, 4, 5]
    assert settings("single", layers) == [{2}, {4}, {5}]
    assert settings("front_to_back", layers) == [{2}, {2, 4}, {2, 4, 5}]
    assert settings("back_to_front", layers) == [{2, 4, 5}, {4, 5}, {5}]
    assert distinct(["single"], layers) == [frozenset(), {2, 4, 5}, {2}, {4}, {5}]


class _Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0]


def test_a_graph_is_walked_once_however_many_ways_lead_through_it() -> None:
    """Fifty sums of a value with itself: 2^50 ways."""
    x = torch.ones(1, requires_grad=True)
    value = _Custom.apply(x * 1)
    for _ in range(50):
        value = value + value
    lower = get_gradient_edge(x)
    assert between(get_gradient_edge(value), lower, lower) == frozenset()
    assert custom_functions(value) == ["_Custom"]
