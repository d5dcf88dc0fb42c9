"""The table of calls: names of in-place twins, and calls that are several."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import axioms
from axioms.engine.calls import is_in_place, plain_name


@pytest.mark.parametrize(
    ("name", "plain"),
    [("add_", "add"), ("__iadd__", "__add__"), ("add", "add"), ("__add__", "__add__"), ("mul_", "mul")],
)
def test_what_is_written_in_place_has_a_twin_that_is_not(name: str, plain: str) -> None:
    assert plain_name(name) == plain
    assert is_in_place(name) == (name != plain)


class Gated(nn.Module):
    """signal sigmoid(gate), in one call or in several."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.at_once = nn.Linear(3, 4).double(), at_once

    def forward(self, x: Tensor) -> Tensor:
        both = self.first(x)
        return F.glu(both) if self.at_once else torch.sigmoid(both[:, 2:]) * both[:, :2]


@pytest.mark.parametrize(
    ("method", "options"),
    [("gradient_x_input", {}), ("lrp", {"base": "cp_lrp", "rules": [{"on": "gate", "rule": "stop"}]})],
)
def test_a_gated_linear_unit_is_a_product_with_a_gate(method: str, options: dict[str, Any]) -> None:
    x = torch.tensor([[1.0, -2.0, 0.5], [0.3, 1.0, 2.0]], dtype=torch.float64)
    at_once, apart = (
        axioms.attribute(Gated(at_once=at_once), x, method=method, target=1, **options).scores
        for at_once in (True, False)
    )
    torch.testing.assert_close(at_once, apart, rtol=1e-12, atol=1e-12)
