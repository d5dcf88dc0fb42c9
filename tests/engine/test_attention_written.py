"""Functions that are several operations, written out, against torch's own, whatever they are called with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from axioms.engine import compounds


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=torch.float64)


MASK = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": 0.3},
        {"is_causal": True},
        {"attn_mask": MASK},
        {"attn_mask": MASK.expand(2, 1, 3, 5)},
        {"attn_mask": drawn(3, 5)},
        {"enable_gqa": True},
        {"enable_gqa": True, "is_causal": True, "scale": 2.0},
    ],
)
def test_attention(options: dict[str, Any]) -> None:
    shared = 2 if options.get("enable_gqa") else 4
    query, key, value = drawn(2, 4, 3, 6), drawn(2, shared, 5, 6), drawn(2, shared, 5, 7)
    wanted = F.scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(compounds.attention(query, key, value, **options), wanted)


def test_a_query_that_sees_nothing_reads_nothing() -> None:
    mask = MASK.clone()
    mask[1] = False
    found = compounds.attention(drawn(2, 4, 3, 6), drawn(2, 4, 5, 6), drawn(2, 4, 5, 7), mask)
    assert bool((found[:, :, 1] == 0).all())
    assert bool((found[:, :, 0] != 0).all())


a, b, c = drawn(2, 3, 4), drawn(2, 4, 5), drawn(2, 3, 5)
OTHERS: dict[str, tuple[Any, Any]] = {
    "linear": (compounds.linear(a, drawn(5, 4), drawn(5)), F.linear(a, drawn(5, 4), drawn(5))),
    "linear without bias": (compounds.linear(a, drawn(5, 4)), F.linear(a, drawn(5, 4))),
    "addmm": (
        compounds.addmm(c[0], a[0], b[0], beta=2, alpha=3),
        torch.addmm(c[0], a[0], b[0], beta=2, alpha=3),
    ),
    "addmm by default": (compounds.addmm(c[0], a[0], b[0]), torch.addmm(c[0], a[0], b[0])),
    "baddbmm": (compounds.baddbmm(c, a, b, beta=2, alpha=3), torch.baddbmm(c, a, b, beta=2, alpha=3)),
    "baddbmm by default": (compounds.baddbmm(c, a, b), torch.baddbmm(c, a, b)),
    "addcmul": (compounds.addcmul(a, a + 1, a - 2, value=3), torch.addcmul(a, a + 1, a - 2, value=3)),
    "addcmul by default": (compounds.addcmul(a, a + 1, a - 2), torch.addcmul(a, a + 1, a - 2)),
    "outer": (compounds.outer(a[0, 0], c[0, 0]), torch.outer(a[0, 0], c[0, 0])),
    "glu": (compounds.glu(a), F.glu(a)),
    "glu of another dimension": (compounds.glu(a, 0), F.glu(a, 0)),
    "iterate": (torch.stack(list(compounds.iterate(a))), a),
}
for function in ("var_mean", "std_mean"):
    for given in ((), (1,), ((0, 2),), (1, False), (True,)):
        OTHERS[f"{function}{given}"] = getattr(compounds, function)(a, *given), getattr(torch, function)(a, *given)
    for named in (
        {"dim": -1, "keepdim": True},
        {"dim": 0, "correction": 0},
        {"dim": 1, "unbiased": False, "keepdim": True},
    ):
        OTHERS[f"{function}{named}"] = getattr(compounds, function)(a, **named), getattr(torch, function)(a, **named)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    torch.testing.assert_close(*OTHERS[name])
