"""Queries up, keys down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn


@rewrite("rescale_qk")
def rescale_qk(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """(c Q)(K / c)' = Q K' for each key head, with another c = factor, 1 / factor, factor, ... in each.

    One number per head, which rotary positions leave alone.
    """
    import torch

    from axioms.rewrites.patterns.attention import attentions

    found = [attention for attention in attentions(model) if not attention.normalized]
    if not found:
        raise NotApplicable("its queries and keys pass a norm, so that scaling them does nothing.")
    for attention in found:
        up = torch.tensor([factor ** (1 - 2 * (head % 2)) for head in range(attention.shared)], dtype=torch.float64)
        up = up.repeat_interleave(attention.width)
        wide = up.reshape(attention.shared, -1).repeat_interleave(attention.group, 0).flatten()
        attention.query.change_outputs(lambda rows, by=wide: scaled(rows, by))  # type: ignore[misc]
        attention.key.change_outputs(lambda rows, by=1 / up: scaled(rows, by))  # type: ignore[misc]
    return model


def scaled(rows: Tensor, by: Tensor) -> Tensor:
    """Each row times its number."""
    return rows * by.to(rows).reshape(-1, *(1,) * (rows.dim() - 1))
