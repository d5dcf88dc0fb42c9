"""Activation modules are known by what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2CLS, ACT2FN

import axioms
from axioms.engine.where import is_activation


class Calls(nn.Module):
    """A function as a module without anything of its own."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


NOT = {"laplace", "linear", "sigmoid", "sqrtsoftplus", "xielu"}
"""Not zero at zero, linear, or (xielu) with vectors of its own."""


@pytest.mark.parametrize("name", sorted(ACT2CLS))
def test_those_of_transformers(name: str) -> None:
    assert is_activation(ACT2FN[name].eval()) is (name not in NOT)


@pytest.mark.parametrize(
    "module",
    [
        nn.ReLU(inplace=True),
        nn.GELU(),
        nn.Tanh(),
        nn.ELU(),
        nn.PReLU(),
        nn.Hardswish(),
        nn.Hardshrink(0.3),  # but near zero it is an identity
        Calls(lambda x: x * x.sigmoid()),
    ],
)
def test_activations(module: nn.Module) -> None:
    assert is_activation(module)


@pytest.mark.parametrize(
    "module",
    [
        nn.Identity(),
        nn.Dropout().eval(),
        nn.Sigmoid(),
        nn.Softplus(),
        nn.Softmax(-1),
        nn.GLU(),
        nn.LayerNorm(8, elementwise_affine=False),
        nn.PReLU(8),
        nn.Linear(8, 8),
        nn.Flatten(0),
        nn.Sequential(nn.ReLU()),
        Calls(lambda x: x.flip(-1)),
        Calls(lambda x: x * x.mean()),
        Calls(lambda x: 3 * x),
        Calls(torch.cos),
        Calls(lambda x, y: x * y),
    ],
)
def test_others(module: nn.Module) -> None:
    assert not is_activation(module)


def test_a_module_may_ask_to_be_looked_into() -> None:
    open_one: Any = Calls(lambda x: x * torch.tanh(x))
    assert is_activation(open_one)
    closed: Any = Calls(lambda x: x * torch.tanh(x))
    closed.one_operation = False
    assert not is_activation(closed)


def test_one_of_ones_own_needs_no_name() -> None:
    """sin has no rule; a module that is nothing but sin is an activation, as g(0) = 0."""
    model = nn.Sequential(nn.Linear(3, 4), Calls(torch.sin), nn.Linear(4, 2)).double()
    x = torch.rand(2, 3, dtype=torch.float64)
    found = axioms.attribute(model, x, ledger=True)
    assert found.ledger is not None
    assert abs(found.ledger.unexplained) < 1e-12
