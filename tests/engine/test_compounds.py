"""Calls that are written out give what they give as one call, and each part gets its rule."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.engine.compounds import attention


class Attends(nn.Module):
    """nn.MultiheadAttention, with or without the weights, which take different ways through torch."""

    def __init__(self, *, need_weights: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True).double()
        self.need_weights = need_weights

    def forward(self, x: Tensor) -> Any:
        return self.attention(x, x, x, need_weights=self.need_weights)[0][:, 0]


class ByHand(nn.Module):
    """The same parameters in a plain softmax attention."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor) -> Any:
        assert self.attention.in_proj_weight is not None
        projected = nn.functional.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias)
        query, key, value = (part.unflatten(-1, (2, 2)).transpose(1, 2) for part in projected.chunk(3, dim=-1))
        weights = torch.softmax(query / 2**0.5 @ key.transpose(-2, -1), dim=-1)
        return self.attention.out_proj((weights @ value).transpose(1, 2).flatten(2))[:, 0]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "degree_lrp", "gradient_x_input"])
def test_multi_head_attention_is_attention(method: str, need_weights: bool) -> None:
    model = Attends(need_weights=need_weights)
    x = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    scores = [axioms.attribute(module, x, method=method).scores for module in (model, ByHand(model.attention))]
    torch.testing.assert_close(*scores, rtol=1e-10, atol=1e-12)


def test_an_operation_can_be_registered_by_what_it_is_or_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also through the public API: before that the model is refused, and the message says what to write."""
    from axioms.core.errors import InputError, UncoveredOperation
    from axioms.engine.calls import CALLS

    class Calls(nn.Module):
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function = function

        def forward(self, x: Tensor) -> Any:
            return self.function(x)

    for name in ("sinh", "addcdiv"):
        monkeypatch.setitem(CALLS, name, CALLS["relu"])  # put back at the end
        del CALLS[name]
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    with pytest.raises(UncoveredOperation, match=r"axioms\.register_operation\('sinh', kind="):
        axioms.attribute(Calls(torch.sinh), x)
    axioms.register_operation(torch.sinh, kind="activation")
    assert torch.allclose(
        axioms.attribute(Calls(torch.sinh), x, target=1).scores, torch.tensor([[0.0, 2.0]]).sinh().double()
    )
    axioms.register_operation("addcdiv", written_as=lambda x, a, b, *, value=1: x + value * (a / b))
    model = Calls(lambda x: torch.addcdiv(x, x, torch.full_like(x, 2.0)))
    assert torch.allclose(axioms.attribute(model, x, target=1).scores, torch.tensor([[0.0, 3.0]]).double())
    with pytest.raises(InputError, match="either `kind` or `written_as`"):
        axioms.register_operation("sinh")
    with pytest.raises(InputError, match="Did you mean 'activation'"):
        axioms.register_operation("sinh", kind="activaton")


@pytest.mark.parametrize("batch", [1, 3])
def test_heads_that_share_keys_attend_as_torch_has_it(batch: int) -> None:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(batch, 6, 5, 2, generator=generator, dtype=torch.float64)
    key, value = (torch.randn(batch, 2, 5, 2, generator=generator, dtype=torch.float64) for _ in range(2))
    wanted = nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    torch.testing.assert_close(attention(query, key, value, enable_gqa=True), wanted, rtol=1e-12, atol=1e-12)


class Added(nn.Module):
    """x1 + 3 x2 x3, in one call or in several."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__()
        self.at_once = at_once

    def forward(self, x: Tensor) -> Tensor:
        a, b, c = x.unbind(1)
        total = torch.addcmul(a, b, c, value=3) if self.at_once else a + 3 * (b * c)
        return torch.stack([total, total], dim=1)


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "degree_lrp"])
def test_a_product_that_is_added_in_one_call_has_the_rule_of_a_product(method: str) -> None:
    x = torch.tensor([[2.0, 3.0, 4.0]], dtype=torch.float64)
    at_once, apart = (
        axioms.attribute(Added(at_once=at_once), x, method=method, target=0).scores for at_once in (True, False)
    )
    torch.testing.assert_close(at_once, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp", "lrp_gamma"])
def test_a_convolution_is_the_linear_map_that_it_is(bias: bool, method: str) -> None:
    """With a bias and without one."""

    class Convolved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.convolution = nn.Conv1d(1, 3, 4, bias=bias).double()

        def forward(self, x: Tensor) -> Tensor:
            return self.convolution(x.unsqueeze(1)).flatten(1)

    model = Convolved()
    linear = nn.Linear(4, 3, bias=bias).double()
    linear.weight.data = model.convolution.weight.data[:, 0]
    if bias:
        linear.bias.data = model.convolution.bias.data  # type: ignore[union-attr]
    x = torch.tensor([[1.0, -2.0, 0.5, 3.0]], dtype=torch.float64)
    found, wanted = (axioms.attribute(module, x, method=method, target=1).scores for module in (model, linear))
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
