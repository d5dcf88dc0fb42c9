"""Queries, keys and values from one layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("fuse_qkv")
def fuse_qkv(model: nn.Module) -> nn.Module:
    """x W_Q, x W_K, x W_V are the parts of x [W_Q W_K W_V]."""
    import torch

    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import Part, linear

    found = [attention for attention in attentions(model) if not attention.fused]
    if not found:
        raise NotApplicable("its queries, keys and values come from one layer already; see split_qkv.")
    parts: dict[nn.Module, nn.Module] = {}
    for attention in found:
        maps = (attention.query, attention.key, attention.value)
        given = [each.bias for each in maps]
        biases = [each.weight.new_zeros(len(each.rows)) if each.bias is None else each.bias for each in maps]
        bias = None if all(each is None for each in given) else torch.cat(biases)
        whole, start = linear(torch.cat([each.weight for each in maps]), bias), 0
        for each in maps:
            parts[each.layer] = Part(whole, start, len(each.rows))
            start += len(each.rows)
    replace_modules(model, parts.get)
    return model
