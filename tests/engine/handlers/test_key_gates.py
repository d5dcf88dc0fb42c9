"""What removing a key from an attention takes, and the other keys' share, where attention is saturated or tied."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from axioms.engine.handlers.gates import _others, _removing, gated
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.removals import Removal

LOGITS = st.lists(st.floats(-40, 40), min_size=2, max_size=5)


@given(LOGITS)
def test_the_other_keys_share(logits: list[float]) -> None:
    weights = torch.tensor([logits], dtype=torch.float64).softmax(-1)
    found = _others(weights, -1)[0]
    for place in range(len(logits)):
        rest = sum(float(weights[0, other]) for other in range(len(logits)) if other != place)
        assert float(found[place]) == pytest.approx(rest, rel=1e-9)


def test_two_keys_that_share_all_attention() -> None:
    """Half of it each: neither is large, and each leaves the other half."""
    assert _others(torch.tensor([[0.5, 0.5]]), -1).tolist() == [[0.5, 0.5]]


@given(st.lists(st.floats(-8, 8), min_size=2, max_size=5), st.floats(0.1, 1.0))
def test_a_gates_slope_is_the_change_by_removing_its_key(logits: list[float], level: float) -> None:
    """Between its gate wide open and shut, all others as they are."""
    scores, count = torch.tensor(logits, dtype=torch.float64), len(logits)
    values = torch.arange(1, count + 1, dtype=torch.float64)
    gates = torch.full((count,), level, dtype=torch.float64, requires_grad=True)
    read = (scores + _removing(scores[None], gates.log()[None], -1)[0]).softmax(0) @ values
    (slope,) = torch.autograd.grad(read, gates)
    for key in range(count):
        changed = []
        for gate in (1.0, 0.0):
            shares = scores.softmax(0) * torch.where(torch.arange(count) == key, gate, level)
            changed.append(float(shares @ values / shares.sum()))
        assert float(slope[key]) == pytest.approx(changed[0] - changed[1], rel=1e-6, abs=1e-9)


def test_a_key_that_is_all_there_is_cannot_be_removed() -> None:
    gates = torch.ones(1, 2, dtype=torch.float64, requires_grad=True)
    scores = torch.tensor([[100.0, -100.0]], dtype=torch.float64)
    read = (scores + _removing(scores, gates.log(), -1)).softmax(-1) @ torch.tensor([1.0, 2.0], dtype=torch.float64)
    (slope,) = torch.autograd.grad(read.sum(), gates)
    assert float(slope[0, 0]) == 0


@pytest.mark.parametrize("way", ["tuple", "list", "number"])
def test_attention_by_a_logarithm_is_gated_too(way: str) -> None:
    """exp(z - logsumexp z), whose dimension may be one of several."""
    dim: Any = {"tuple": (-1,), "list": [-1], "number": -1}[way]

    class Logarithmic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.query, self.key, self.value = (nn.Linear(2, 2).double() for _ in range(3))

        def forward(self, x: Tensor, attention_mask: Tensor) -> Tensor:
            scores = self.query(x) @ self.key(x).transpose(1, 2)
            scores = scores.masked_fill(attention_mask[:, None, :] == 0, -1e30)
            weights = (scores - scores.logsumexp(dim, keepdim=True)).exp()
            return (weights @ self.value(x))[:, 0]

    x = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model = Model(Logarithmic())
    inputs = Inputs(x, {"attention_mask": torch.ones(1, 3)}, removal=Removal(kind="attention_mask"))
    gates = torch.ones(1, 3, dtype=torch.float64)
    with torch.no_grad(), model.at_rest():
        torch.testing.assert_close(gated(model, inputs, gates), model(inputs))
