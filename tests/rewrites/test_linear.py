"""One linear layer as two, two as one, and a branch that adds nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from axioms.core.errors import NotApplicable
from axioms.model.inputs import Inputs
from axioms.rewrites.apply import apply_rewrite, checked_rewrite

INPUTS = Inputs(torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))


def row(*layers: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*layers).double()


@pytest.mark.parametrize("bias", [(True, True), (True, False), (False, True), (False, False)])
def test_layers_that_follow_each_other_become_one(bias: tuple[bool, bool]) -> None:
    model = row(nn.Linear(4, 5, bias[0]), nn.Linear(5, 3, bias[1]), nn.ReLU(), nn.Linear(3, 2))
    rewritten, gap = checked_rewrite("merge_linear", {}, model, INPUTS, 2)
    assert gap < 1e-12
    merged = list(rewritten.module.children())
    assert [type(layer) for layer in merged] == [nn.Identity, nn.Linear, nn.ReLU, nn.Linear]
    assert merged[1].weight.shape == (3, 4)
    assert (merged[1].bias is not None) == any(bias)


def test_three_become_one_and_none_stay() -> None:
    model = row(nn.Linear(4, 5), nn.Linear(5, 6), nn.Linear(6, 2))
    rewritten, gap = checked_rewrite("merge_linear", {}, model, INPUTS, 2)
    assert gap < 1e-12
    assert [type(layer) for layer in rewritten.module.children()] == [nn.Identity, nn.Identity, nn.Linear]
    with pytest.raises(NotApplicable, match="no two linear layers of the model follow each other"):
        apply_rewrite("merge_linear", {}, row(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)), INPUTS)


@pytest.mark.parametrize("name", ["split_linear", "add_zero_branch"])
def test_every_linear_layer_is_rewritten(name: str) -> None:
    model = row(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2, bias=False))
    rewritten, gap = checked_rewrite(name, {}, model, INPUTS, 2)
    assert gap < 1e-12
    assert not any(type(layer) is nn.Linear for layer in rewritten.module.children())
    with pytest.raises(NotApplicable, match="no linear layer inside"):
        apply_rewrite(name, {}, row(nn.ReLU()), INPUTS)
