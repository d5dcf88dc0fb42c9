"""The modules of a model are listed once while it is held, and as they are at all other times."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from axioms.model.module import Model
from axioms.model.parts import parts_of


@pytest.fixture
def network() -> nn.Sequential:
    shared = nn.Linear(2, 2)
    return nn.Sequential(nn.Embedding(3, 2), shared, nn.Sequential(shared, nn.ReLU()))


def test_parts_are_what_torch_lists(network: nn.Sequential) -> None:
    parts = parts_of(network)
    assert parts.named == list(network.named_modules())
    assert [id(parameter) for parameter in parts.parameters] == [id(parameter) for parameter in network.parameters()]
    assert parts.embeddings == [network[0]]


def test_one_list_serves_while_a_model_is_at_rest(network: nn.Sequential) -> None:
    with Model(network).at_rest():
        parts = parts_of(network)
        with Model(network).at_rest():
            assert parts_of(network) is parts
        assert parts_of(network) is parts
    assert parts_of(network) is not parts


def test_a_module_that_is_exchanged_between_two_uses_is_seen(network: nn.Sequential) -> None:
    with Model(network).at_rest():
        pass
    network[0] = nn.Embedding(5, 2)
    network[1].weight.requires_grad_(False)
    with Model(network).at_rest():
        assert parts_of(network).embeddings == [network[0]]
        assert not any(parameter.requires_grad for parameter in network.parameters())
    assert network[0].weight.requires_grad
    assert not network[1].weight.requires_grad


def test_an_error_lets_go_of_the_model(network: nn.Sequential) -> None:
    with pytest.raises(ValueError, match="in between"), Model(network).at_rest():
        raise ValueError("in between")
    network.append(nn.Tanh())
    assert len(parts_of(network).named) == len(list(network.named_modules()))
    assert torch.is_grad_enabled()
