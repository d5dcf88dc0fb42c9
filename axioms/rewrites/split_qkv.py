"""Queries, keys and values from layers of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("split_qkv")
def split_qkv(model: nn.Module) -> nn.Module:
    """x [W_Q W_K W_V] is x W_Q, x W_K, x W_V side by side."""
    import torch

    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import Map, replace_modules
    from axioms.rewrites.patterns.modules import SideBySide, linear

    found = [attention for attention in attentions(model) if attention.fused]
    if not found:
        raise NotApplicable("its queries, keys and values come from layers of their own already; see fuse_qkv.")
    layers: dict[nn.Module, nn.Module] = {}
    for attention in found:
        sizes = [len(each.rows) for each in (attention.query, attention.key, attention.value)]
        layer = attention.query.layer
        parts = [Map(layer, rows) for rows in torch.arange(sum(sizes)).split(sizes)]
        layers[layer] = SideBySide([linear(part.weight, part.bias) for part in parts])
    replace_modules(model, layers.get)
    return model
