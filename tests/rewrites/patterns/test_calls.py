"""Attention by einsum is torch's own attention, whatever it is called with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable
from axioms.rewrites.patterns.calls import attention_by_einsum, rewrite_activation, rewrite_calls
from axioms.rewrites.patterns.products import Regrouped
from axioms.rewrites.written import exp_over_sum, gelu, gelu_by_erf, gelu_by_tanh, times_sigmoid

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUES = 2, 4, 3, 5, 6, 7
BOOLEAN = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": 0.3},
        {"is_causal": True},
        {"attn_mask": BOOLEAN},
        {"attn_mask": drawn(QUERIES, KEYS)},
        {"attn_mask": drawn(BATCH, 1, QUERIES, KEYS)},
        {"enable_gqa": True},
        {"enable_gqa": True, "attn_mask": BOOLEAN, "scale": 2.0},
    ],
)
def test_attention_by_einsum_is_torchs(options: dict[str, Any]) -> None:
    shared = 2 if options.get("enable_gqa") else HEADS
    query, key = drawn(BATCH, HEADS, QUERIES, WIDTH), drawn(BATCH, shared, KEYS, WIDTH)
    value = drawn(BATCH, shared, KEYS, VALUES)
    wanted = nn.functional.scaled_dot_product_attention(query, key, value, **options)
    for softmax in (torch.softmax, exp_over_sum):
        torch.testing.assert_close(attention_by_einsum(softmax)(query, key, value, **options), wanted)


def test_a_query_that_sees_nothing_reads_nothing() -> None:
    seen = BOOLEAN.clone()
    seen[1] = False
    query, key, value = drawn(BATCH, HEADS, QUERIES, WIDTH), drawn(BATCH, HEADS, KEYS, WIDTH), drawn(1, 1, KEYS, 2)
    found = attention_by_einsum(torch.softmax)(query, key, value.expand(BATCH, HEADS, -1, -1), attn_mask=seen)
    assert bool((found[:, :, 1] == 0).all())
    assert bool((found[:, :, [0, 2]] != 0).all())


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_functions_written_out_compute_the_same(dim: int) -> None:
    x = 3 * drawn(4, 5, 6)
    torch.testing.assert_close(exp_over_sum(x, dim), x.softmax(dim))
    torch.testing.assert_close(exp_over_sum(x.float(), dim, dtype=torch.float64), x.float().double().softmax(dim))
    for approximate in ("none", "tanh"):
        torch.testing.assert_close(gelu(x, approximate), nn.functional.gelu(x, approximate=approximate))
    assert not torch.allclose(gelu_by_erf(x), gelu_by_tanh(x), atol=1e-6)
    torch.testing.assert_close(times_sigmoid(x), nn.functional.silu(x))


def test_the_largest_logit_only_shifts_and_is_no_variable() -> None:
    x = drawn(2, 3).requires_grad_()
    names, nodes = set(), [exp_over_sum(1000 * x).grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None:
            names.add(type(node).__name__)
            nodes += [following for following, _ in node.next_functions]
    assert "ExpBackward0" in names
    assert not any("max" in name.lower() for name in names)
    assert bool(exp_over_sum(1000 * x).isfinite().all())


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = self.again = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.act(x)) + torch.relu(x)


def test_a_module_is_written_out_at_each_of_its_places() -> None:
    x, model = drawn(2, 3), Twice()
    plain = model(x)
    rewritten = rewrite_activation(
        model, lambda module: times_sigmoid if isinstance(module, nn.SiLU) else None, {}, "SiLU"
    )
    assert type(rewritten.act) is type(rewritten.again) is not nn.SiLU
    assert rewritten.act is rewritten.again
    torch.testing.assert_close(rewritten(x), plain)


def test_a_model_without_such_modules_gets_its_calls_written_out() -> None:
    calls: list[int] = []

    def counted(x: Tensor) -> Tensor:
        calls.append(1)
        return x.clamp(min=0)

    x, model = drawn(2, 3), Twice()
    plain = model(x)
    rewritten = rewrite_activation(model, lambda module: None, {"relu": counted}, "ReLU")
    torch.testing.assert_close(rewritten(x), plain)
    torch.testing.assert_close(rewritten(x), plain)
    assert len(calls) == 2
    assert isinstance(rewritten.act, nn.SiLU)


def test_what_a_model_does_not_compute_is_named() -> None:
    model = rewrite_calls(Twice(), {"gelu": gelu}, "GELU")
    with pytest.raises(NotApplicable, match="the model computes no GELU"):
        model(drawn(2, 3))
    with pytest.raises(NotApplicable, match="no matrix product of three computed values without a softmax in between"):
        Regrouped().leave()
