"""Attention by the `sdpa` implementation of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite
from axioms.rewrites.eager_attention import switched

if TYPE_CHECKING:
    from torch import nn


@rewrite("sdpa_attention")
def sdpa_attention(model: nn.Module) -> nn.Module:
    """softmax(Q K') V by transformers' `sdpa` code instead of `eager`."""
    return switched(model, "sdpa")
