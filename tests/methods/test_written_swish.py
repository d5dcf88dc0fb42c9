"""An activation written out in experts, g * sigmoid(alpha g), has the rules of the same function as one operation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import axioms
from axioms.core.errors import UncoveredOperation


class Experts(nn.Module):
    """down((up + 1) * silu(gate)), as GPT-OSS multiplies them, with the activation as one call or written out."""

    def __init__(self, parameter: str, *, is_written: bool, is_last: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.name, self.is_written, self.is_last = parameter, is_written, is_last
        self.register_parameter(parameter, nn.Parameter(torch.randn(4, 10, dtype=torch.float64)))
        self.down = nn.Linear(5, 2).double()

    def forward(self, x: Tensor) -> Tensor:
        gate, up = (x @ getattr(self, self.name)).chunk(2, dim=-1)
        activated = gate * torch.sigmoid(gate) if self.is_written else F.silu(gate)
        return self.down((up + 1) * activated if self.is_last else activated * (up + 1))


X = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("engine", ["fast", "explicit"])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
def test_written_out_or_as_one_call(method: str, engine: str, is_last: bool) -> None:
    written, called = (
        axioms.attribute(
            Experts("gate_up_proj", is_written=is_written, is_last=is_last), X, method=method, engine=engine
        ).scores
        for is_written in (True, False)
    )
    torch.testing.assert_close(written, called, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
def test_a_sigmoid_anywhere_else_has_no_rule(method: str) -> None:
    with pytest.raises(UncoveredOperation, match="no rule covers 'sigmoid'"):
        axioms.attribute(Experts("projection", is_written=True, is_last=True), X, method=method)
