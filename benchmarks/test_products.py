"""Linear maps of a Transformer's shapes in float32: ours beside torch's own, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from axioms.core.products import fast_products

SHAPES = [(2304, 768, 768), (2304, 768, 3072), (512, 384, 1536), (96, 768, 768)]


@pytest.mark.parametrize(("rows", "width", "out"), SHAPES, ids=["x".join(map(str, shape)) for shape in SHAPES])
def test_linear_maps(compare: Any, rows: int, width: int, out: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, width, generator=generator).requires_grad_()
    weight, pulled = torch.randn(out, width, generator=generator), torch.randn(rows, out, generator=generator)

    def both_ways() -> None:
        for _ in range(10):
            torch.autograd.grad(F.linear(x, weight), x, pulled)

    def fast() -> None:
        with fast_products([weight]):
            both_ways()

    compare(f"linear map, {rows} x {width} to {out}", fast, both_ways, of="torch's own")
