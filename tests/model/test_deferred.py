"""A target that is chosen from a pass which the method runs anyway."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from axioms.model.deferred import DeferredTarget
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target


class Counted(nn.Module):
    """Says how often it was run."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]]))
        self.runs = 0

    def forward(self, x: Tensor) -> Tensor:
        self.runs += 1
        return x @ self.weight.T


X = torch.tensor([[1.0, 0.0], [0.0, 1.0]])


def test_it_is_chosen_from_the_outputs_that_it_is_given() -> None:
    model = Counted()
    target = DeferredTarget("predicted", Model(model), Inputs(X))
    outputs = model(X)
    target.settle(outputs)
    assert model.runs == 1
    assert target.index.tolist() == [1, 0]
    assert target.output.tolist() == [3.0, 2.0]
    assert not target.output.requires_grad  # what is explained is a number, not a graph
    assert model.runs == 1
    assert torch.equal(target(outputs), outputs[[0, 1], [1, 0]])
    assert target.rows(1, 2).index.tolist() == [0]
    assert target.select(torch.tensor([1, 1, 0])).index.tolist() == [0, 0, 1]


def test_what_is_chosen_stays_until_it_is_reconsidered() -> None:
    model = Counted()
    target = DeferredTarget("predicted", Model(model), Inputs(X))
    target.settle(torch.tensor([[9.0, 0, 0], [0, 0, 9.0]]))
    target.settle(model(X))
    assert target.index.tolist() == [0, 2]
    assert target.output.tolist() == [9.0, 9.0]
    target.reconsider()
    target.settle(model(X))
    assert target.index.tolist() == [1, 0]


def test_where_it_is_needed_before_the_model_is_run_once() -> None:
    model = Counted()
    target = DeferredTarget(2, Model(model), Inputs(X))
    assert target.chosen.index.tolist() == [2, 2]
    assert target.output.tolist() == [0.5, 0.5]
    assert not target.output.requires_grad
    assert model.runs == 1


def test_a_target_that_lacks_its_value_alone() -> None:
    wanted = Target(torch.tensor([1, 2]))
    target = DeferredTarget(wanted, Model(Counted()), Inputs(X))
    assert target.chosen is wanted
    assert target.output.tolist() == [3.0, 0.5]
