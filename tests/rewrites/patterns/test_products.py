"""Products of three are grouped the other way, whichever two were multiplied first; products with weights stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from axioms.engine.mode import Mode
from axioms.rewrites.patterns.products import Regrouped

A, B, C = (torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
W = nn.Parameter(torch.ones(3, 3))


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (lambda: (A @ B) @ C, 1),
        (lambda: A @ (B @ C), 1),
        (lambda: torch.bmm(torch.matmul(A, B), C), 1),
        (lambda: A @ B, 0),
        (lambda: (A @ B) + (B @ C), 0),
        (lambda: (A @ W) @ C, 0),
        (lambda: (W @ A) @ C, 0),
        (lambda: A @ (B @ W), 0),
        (lambda: (A @ B).softmax(-1) @ C, 0),
    ],
)
def test_what_is_regrouped(call: Callable[[], Tensor], count: int) -> None:
    handler = Regrouped()
    with Mode(handler), torch.no_grad():
        found = call()
    assert handler.count == count
    with torch.no_grad():
        torch.testing.assert_close(found, call(), rtol=1e-4, atol=1e-5)


def test_the_other_way_is_really_taken() -> None:
    """In half precision the order shows: 1e4 times 1e4 is too large, and 1e4 times 1e-4 is not."""
    large, small = torch.full((1, 1), 1e4, dtype=torch.float16), torch.full((1, 1), 1e-4, dtype=torch.float16)
    with Mode(Regrouped()):
        assert bool((large @ (large @ small)).isinf())
        assert bool(((small @ large) @ large).isinf())
