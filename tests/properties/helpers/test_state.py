"""A change that a method must not make is seen, and nothing else is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from axioms.properties.helpers.state import GROUPS, state, watched


def network() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()


def _write(model: Any) -> None:
    model[0].weight.data[0, 0] += 1e-3


def _gradient(model: Any) -> None:
    model[0].weight.grad = torch.zeros(3, 2)


def _buffer(model: Any) -> None:
    model[1].running_var[0] = 5


def _dtype(model: Any) -> None:
    model[0].bias.data = model[0].bias.data.double()


def _shape(model: Any) -> None:
    model[0].bias.data = torch.zeros(1)


def _freeze(model: Any) -> None:
    model[0].bias.requires_grad_(False)


def _train(model: Any) -> None:
    model[1].train()


def _hook(model: Any) -> None:
    model[0].register_forward_pre_hook(lambda *_: None)


def _exchanged_hook(model: Any) -> None:
    (key,) = model[0]._forward_hooks
    del model[0]._forward_hooks[key]
    model[0].register_forward_hook(lambda *_: None)


def _tensor_hook(model: Any) -> None:
    model[0].weight.register_hook(lambda gradient: gradient)


def _forward(model: Any) -> None:
    model[0].forward = lambda x: x


def _seed(model: Any) -> None:
    torch.manual_seed(77)


def _numpy(model: Any) -> None:
    np.random.rand()


def _python(model: Any) -> None:
    random.random()


CHANGES: dict[Callable[[Any], None], tuple[str, str]] = {
    _write: ("weights", "0.weight"),
    _gradient: ("weights", "0.weight.grad"),
    _buffer: ("weights", "1.running_var"),
    _dtype: ("weights", "0.bias"),
    _shape: ("weights", "0.bias"),
    _freeze: ("flags", "0.bias.requires_grad"),
    _train: ("flags", "1.training"),
    _hook: ("hooks", "0"),
    _exchanged_hook: ("hooks", "0"),
    _tensor_hook: ("hooks", "0.weight (tensor)"),
    _forward: ("code", "0"),
    _seed: ("globals", "random of torch"),
    _numpy: ("globals", "random of numpy"),
    _python: ("globals", "random of python"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_and_named(change: Callable[[Any], None]) -> None:
    model, changed = network(), set[tuple[str, str]]()
    model[0].register_forward_hook(lambda *_: None)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    with watched(model, changed):
        change(model)
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])
    assert changed == {CHANGES[change]}


def test_what_stays_is_not_seen() -> None:
    """Nor is a weight that is no number, which equals nothing."""
    model, changed = network(), {("weights", "before")}
    model[0].weight.data[0, 0] = float("nan")
    with watched(model, changed):
        model(torch.ones(1, 2))
        model[0].weight.data = model[0].weight.data.clone()
    assert changed == {("weights", "before")}


def test_weights_gradients_and_attributes_that_come_or_go_are_seen() -> None:
    model = network()
    for before, after in ((model, nn.Sequential(model[0])), (nn.Sequential(model[0]), model)):
        assert set(state(before)) != set(state(after))
    assert {group for group, _ in state(model)} == set(GROUPS)
    for change in (lambda: model.add_module("more", nn.Linear(1, 1)), lambda: model.__delattr__("more")):
        changed: set[tuple[str, str]] = set()
        with watched(model, changed):
            change()
        assert {("weights", "more.weight"), ("flags", "more.training"), ("hooks", "more"), ("code", "more")} <= changed
