"""Calls that are written out give what they give as one call, and each part gets its rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import UncoveredOperation
from axioms.engine import compounds
from axioms.engine.kinds import GATE, NORMALIZER, PRODUCT, SUM
from tests.engine.test_parse import read


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


def test_addcmul_is_a_product_and_a_sum_to_every_rule() -> None:
    class OneCall(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.addcmul(x[:, :1], x[:, 1:2], x[:, 2:], value=2)

    class Written(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :1] + 2 * (x[:, 1:2] * x[:, 2:])

    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    for method in ("attnlrp", "cp_lrp"):
        one, other = (axioms.attribute(module, x, 0, method).scores for module in (OneCall(), Written()))
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(one.sum(), torch.tensor(13.0, dtype=torch.float64))


def test_a_convolution_without_a_bias_hands_on_all_of_its_relevance() -> None:
    class Convolved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv1d(1, 2, 2, bias=False).double()

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x.unsqueeze(1)).flatten(1).sum(1, keepdim=True)

    torch.manual_seed(0)
    module, x = Convolved(), torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
    found = axioms.attribute(module, x, 0, "attnlrp")
    weight = module.layer.weight.detach().sum(0)[0]
    by_hand = torch.stack([x[0, 0] * weight[0], x[0, 1] * weight.sum(), x[0, 2] * weight[1]])
    torch.testing.assert_close(found.scores[0], by_hand)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_heads_that_share_keys_read_those_of_their_group_in_batches_of_any_size(batch: int) -> None:
    generator = torch.Generator().manual_seed(batch)
    query, key, value = (
        torch.randn(batch, heads, 5, 6, generator=generator, dtype=torch.float64) for heads in (4, 2, 2)
    )
    found = compounds.attention(query, key, value, enable_gqa=True)
    for head in range(4):
        weights = (query[:, head] @ key[:, head // 2].mT / 6**0.5).softmax(-1)
        torch.testing.assert_close(found[:, head], weights @ value[:, head // 2])


WRITTEN_OUT: dict[str, tuple[Callable[[Tensor], Any], list[str]]] = {
    "addcmul": (lambda x: torch.addcmul(x, x, x.flip(0)), [PRODUCT, SUM]),
    "baddbmm": (lambda x: torch.baddbmm(x, x, x), [PRODUCT, SUM]),
    "outer": (lambda x: torch.outer(x[0, 0], x[1, 0]), [PRODUCT]),
    "glu": (lambda x: torch.nn.functional.glu(x[..., :2]), [GATE, PRODUCT]),
    "var_mean": (lambda x: torch.var_mean(x, -1)[1], [NORMALIZER, SUM]),
    "std_mean": (lambda x: torch.std_mean(x, -1)[1], [NORMALIZER, SUM]),
    "a loop": (lambda x: [row * row for row in x][0], [PRODUCT, PRODUCT]),  # noqa: RUF015 (every row is computed)
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_a_call_that_is_several_operations_is_seen_as_these(name: str) -> None:
    call, wanted = WRITTEN_OUT[name]
    x = torch.randn(2, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    reading, value = read(lambda: call(x))
    assert [operation.kind for operation in reading.operations] == wanted
    assert reading.unexplained == []
    torch.testing.assert_close(value, call(x))


def test_glu_is_written_out_so_that_its_gate_needs_a_rule() -> None:
    class OneCall(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.glu(x, dim=-1)

    with pytest.raises(UncoveredOperation, match="no rule covers 'sigmoid'"):
        axioms.attribute(OneCall(), torch.tensor([[2.0, 3.0]], dtype=torch.float64), 0, "attnlrp")


@pytest.mark.parametrize("options", [{}, {"unbiased": False}, {"correction": 0}, {"correction": 2}, {"keepdim": True}])
@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_written_deviations_have_torchs_defaults(name: str, options: dict[str, Any]) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    written, wanted = (getattr(place, name)(x, 1, **options) for place in (compounds, torch))
    for one, other in zip(written, wanted, strict=True):
        torch.testing.assert_close(one, other)
