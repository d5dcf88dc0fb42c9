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
GIVEN: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "linear": ((a, drawn(5, 4), drawn(5)), {}),
    "linear, without bias": ((a, drawn(5, 4)), {}),
    "addmm": ((c[0], a[0], b[0]), {}),
    "addmm, scaled": ((c[0], a[0], b[0]), {"beta": 2, "alpha": 3}),
    "baddbmm": ((c, a, b), {}),
    "baddbmm, scaled": ((c, a, b), {"beta": 2, "alpha": 3}),
    "addcmul": ((a, a + 1, a - 2), {}),
    "addcmul, scaled": ((a, a + 1, a - 2), {"value": 3}),
    "outer": ((a[0, 0], c[0, 0]), {}),
    "glu": ((a,), {}),
    "glu, of another dimension": ((a, 0), {}),
    **{
        f"{name}, {number}": ((a, *given), named)
        for name in ("var_mean", "std_mean")
        for number, (given, named) in enumerate(
            [
                ((), {}),
                ((1,), {}),
                (((0, 2),), {}),
                ((1, False), {}),
                ((True,), {}),
                ((), {"dim": -1, "keepdim": True}),
                ((), {"dim": 0, "correction": 0}),
                ((), {"dim": 1, "unbiased": False, "keepdim": True}),
            ]
        )
    },
}


@pytest.mark.parametrize("name", GIVEN)
def test_others(name: str) -> None:
    function, (args, kwargs) = name.split(",")[0], GIVEN[name]
    theirs = getattr(torch, function, None) or getattr(F, function)
    torch.testing.assert_close(getattr(compounds, function)(*args, **kwargs), theirs(*args, **kwargs))


def test_a_loop_over_a_tensor() -> None:
    assert torch.equal(torch.stack(list(compounds.iterate(a))), a)
