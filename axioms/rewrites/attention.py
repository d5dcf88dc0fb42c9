"""Rewrites of attention: the order, the scale and the grouping of its maps and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("permute_heads")
def permute_heads(model: nn.Module) -> nn.Module:
    """sum_h A_h x W_V^h W_O^h is the same in any order of the heads h.

    Key and value heads that several query heads share move together with them.
    """
    from axioms.rewrites.patterns.attention import attentions, heads_have_positions

    blocks = attentions(model)
    if heads_have_positions(model):
        raise NotApplicable("its heads have position biases of their own, which would have to move too.")
    if all(attention.heads == 1 for attention in blocks):
        raise NotApplicable("the model has one head only.")
    for attention in blocks:
        shared_heads = [*range(1, attention.shared), 0]
        inside_group = [*range(1, attention.group), 0]
        heads = [attention.group * shared + member for shared in shared_heads for member in inside_group]
        attention.query.select_outputs(attention.channels(heads))
        attention.key.select_outputs(attention.channels(shared_heads))
        attention.value.select_outputs(attention.channels(shared_heads))
        attention.output.select_inputs(attention.channels(heads))
    return model


@rewrite("rescale_qk")
def rescale_qk(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """(c Q)(K / c)' = Q K' for each key head, with another c = factor, 1 / factor, factor, ... in each.

    One number per head, which rotary positions leave alone.
    """
    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import alternating

    blocks = [attention for attention in attentions(model) if not attention.is_normalized]
    if not blocks:
        raise NotApplicable("its queries and keys pass a norm, so that scaling them does nothing.")
    for attention in blocks:
        scale = alternating(factor, attention.shared).repeat_interleave(attention.width)
        attention.query.scale_outputs(attention.for_all_heads(scale))
        attention.key.scale_outputs(1 / scale)
    return model


@rewrite("rescale_vo")
def rescale_vo(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """A (V D)(D^-1 W_O) = A V W_O for a diagonal D: value channels times factor, 1 / factor, factor, ..."""
    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import alternating

    for attention in attentions(model):
        scale = alternating(factor, attention.shared * attention.width)
        attention.value.scale_outputs(scale)
        attention.output.divide_inputs(attention.for_all_heads(scale))
    return model


@rewrite("fold_vo")
def fold_vo(model: nn.Module) -> nn.Module:
    """A (x W_V) W_O = A (x W_V R') Q' with W_O' = Q R: all of W_V W_O but an orthonormal basis is in W_V then.

    For heads that share their values, R is the factor of their output maps on top of each other.
    """
    import torch

    from axioms.rewrites.patterns.attention import attentions

    for attention in attentions(model):
        heads, width, group = attention.shared, attention.width, attention.group
        weight = attention.output.weight  # outputs x (heads * width)
        outputs = weight.shape[0]
        stacked = weight.reshape(outputs, heads, group, width).permute(1, 2, 0, 3)
        stacked = stacked.reshape(heads, group * outputs, width)
        if stacked.shape[1] < width:
            raise NotApplicable("its heads are wider than what they are mapped to.")
        q, r = torch.linalg.qr(stacked)
        attention.output.write(q.reshape(heads, group, outputs, width).permute(2, 0, 1, 3).reshape(outputs, -1))
        value, bias = attention.value.weight, attention.value.bias
        value = (r @ value.reshape(heads, width, -1)).flatten(0, 1)
        bias = None if bias is None else (r @ bias.reshape(heads, width, 1)).flatten()
        attention.value.write(value, bias)
    return model


@rewrite("fuse_qkv")
def fuse_qkv(model: nn.Module) -> nn.Module:
    """x W_Q, x W_K, x W_V are the parts of x [W_Q W_K W_V]."""
    import torch

    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import Part, linear

    blocks = [attention for attention in attentions(model) if attention.is_separate]
    if not blocks:
        raise NotApplicable("its queries, keys and values come from one layer already; see split_qkv.")
    parts: dict[nn.Module, nn.Module] = {}
    for attention in blocks:
        has_bias = any(part.bias is not None for part in attention.qkv)
        bias = torch.cat([part.bias_or_zero for part in attention.qkv]) if has_bias else None
        whole, start = linear(torch.cat([part.weight for part in attention.qkv]), bias), 0
        for part in attention.qkv:
            parts[part.layer] = Part(whole, start, len(part.rows))
            start += len(part.rows)
    replace_modules(model, parts.get)
    return model


@rewrite("split_qkv")
def split_qkv(model: nn.Module) -> nn.Module:
    """x [W_Q W_K W_V] is x W_Q, x W_K, x W_V side by side."""
    import torch

    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.patterns.layers import Map, replace_modules
    from axioms.rewrites.patterns.modules import SideBySide, linear

    blocks = [attention for attention in attentions(model) if attention.is_fused]
    if not blocks:
        raise NotApplicable("its queries, keys and values come from layers of their own already; see fuse_qkv.")
    layers: dict[nn.Module, nn.Module] = {}
    for attention in blocks:
        sizes = [len(part.rows) for part in attention.qkv]
        layer = attention.query.layer
        parts = [Map(layer, rows) for rows in torch.arange(sum(sizes)).split(sizes)]
        layers[layer] = SideBySide([linear(part.weight, part.bias) for part in parts])
    replace_modules(model, layers.get)
    return model


@rewrite("reassociate")
def reassociate(model: nn.Module) -> nn.Module:
    """(A B) C = A (B C) for matrix products of three computed values: in linear attention, (QK')V = Q(K'V)."""
    from axioms.rewrites.patterns.calls import run_under
    from axioms.rewrites.patterns.products import Regrouped

    return run_under(model, Regrouped)
