"""Zero, denormal, huge and negative activations never give NaN or infinity where model and gradient are finite."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

import axioms

METHODS = ("attnlrp", "cp_lrp", "lrp_epsilon", "lrp_gamma", "lrp_alpha1_beta0")
DTYPES = {torch.float16: (1e-7, 6e4), torch.float32: (1e-42, 1e30), torch.float64: (1e-310, 1e150)}
"""A denormal and a huge number of each dtype."""


class Block(nn.Module):
    """Every kind of operation: linear maps, an activation, a gate's product, softmax, a norm, a residual."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.gate, self.down = (nn.Linear(4, 4, dtype=dtype) for _ in range(3))
        self.norm = nn.LayerNorm(4, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        weights = torch.softmax(self.gate(x), dim=-1)
        hidden = weights * self.up(x) + torch.nn.functional.gelu(x) * torch.nn.functional.silu(self.up(x))
        return self.norm(x + self.down(torch.relu(hidden)))


def extremes(dtype: torch.dtype) -> st.SearchStrategy[list[float]]:
    tiny, huge = DTYPES[dtype]
    special = st.sampled_from([0.0, -0.0, tiny, -tiny, huge, -huge, 1.0, -1.0])
    return st.lists(special | st.floats(-10, 10, width=16), min_size=4, max_size=4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_finite_stays_finite(dtype: torch.dtype, method: str, data: st.DataObject) -> None:
    x = torch.tensor([data.draw(extremes(dtype))], dtype=dtype)
    model = Block(dtype)
    leaf = x.clone().requires_grad_()
    outputs = model(leaf)
    inside = [model.up(x), model.gate(x), torch.nn.functional.gelu(x) * torch.nn.functional.silu(model.up(x))]
    assume(all(bool(torch.isfinite(value).all()) for value in inside))
    (gradient,) = torch.autograd.grad(outputs[:, 0].sum(), leaf)
    assume(bool(torch.isfinite(outputs).all()) and bool(torch.isfinite(gradient).all()))
    assert torch.isfinite(axioms.attribute(model, x, target=0, method=method).scores).all()


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_the_identity_rule_near_zero(dtype: torch.dtype, data: st.DataObject) -> None:
    """LXT divides by x + 1e-10 and gives NaN in float16 and -inf in float32 near -1e-10."""
    tiny = DTYPES[dtype][0]
    x = torch.tensor([[data.draw(st.sampled_from([0.0, -0.0, tiny, -tiny, -1e-10, 1e-10, 1.0]))]], dtype=dtype)
    for activation in (nn.GELU(), nn.SiLU(), nn.Tanh(), nn.ReLU()):
        found = axioms.attribute(nn.Sequential(activation), x, target=0, method="attnlrp")
        assert torch.isfinite(found.scores).all()
        assert abs(found.scores).item() <= 2 * abs(x).item(), "no activation here is steeper than 2"
