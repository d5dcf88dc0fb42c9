"""Zero, denormal, huge and negative activations never give NaN or infinity where model and gradient are finite."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

import axioms
from axioms.subjects.models.tiny import tiny

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


class Attending(nn.Module):
    """Two tokens that attend to each other: products of variables, a mask, an RMS norm written out, a division."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.value, self.out = (nn.Linear(2, 2, dtype=dtype) for _ in range(4))

    def inside(self, x: Tensor) -> dict[str, Tensor]:
        """Every value on the way, by its name."""
        x = x.reshape(-1, 2, 2)
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        normed = x * scale
        scores = self.query(normed) @ self.key(x).transpose(1, 2) / 2**0.5
        masked = scores.masked_fill(torch.tensor([[False, True], [False, False]]), float("-inf"))
        read = torch.softmax(masked, dim=-1) @ self.value(x)
        summed = x + self.out(torch.nn.functional.gelu(read))
        size = (summed * summed).sum(-1, keepdim=True).sqrt() + 1
        return {"normed": normed, "scores": scores, "read": read, "size": size, "output": (summed / size).flatten(1)}

    def forward(self, x: Tensor) -> Tensor:
        return self.inside(x)["output"]


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_finite_stays_finite_in_attention(dtype: torch.dtype, method: str, data: st.DataObject) -> None:
    x = torch.tensor([data.draw(extremes(dtype))], dtype=dtype)
    model = Attending(dtype)
    leaf = x.clone().requires_grad_()
    inside = model.inside(leaf)
    assume(all(bool(torch.isfinite(value).all()) for value in inside.values()))
    (gradient,) = torch.autograd.grad(inside["output"][:, 0].sum(), leaf)
    assume(bool(torch.isfinite(gradient).all()))
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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("scale", "clips"), [(1.0, False), (5e4, True)])
def test_t5_in_float16_clamps(method: str, scale: float, clips: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """T5 guards float16 by a clamp with computed bounds: nothing where it clips nothing, finite where it does."""
    ids = torch.randint(3, 40, (2, 7), generator=torch.Generator().manual_seed(1))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    model: Any = tiny(architecture="t5-encoder")
    with torch.no_grad():
        model.transformer.encoder.block[0].layer[1].DenseReluDense.wo.weight.mul_(scale)
    model.to(torch.float16)
    found = axioms.attribute(model, given, 0, method).scores
    assert torch.isfinite(found).all()
    with monkeypatch.context() as without:
        without.setattr(torch, "clamp", lambda x, min, max: x)
        assert bool(torch.isfinite(model(**given).logits).all()) is not clips
        if not clips:
            assert torch.equal(axioms.attribute(model, given, 0, method).scores, found)
