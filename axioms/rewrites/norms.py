"""Rewrites of norms: what they multiply and add belongs as well to the layer beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("fold_norm")
def fold_norm(model: nn.Module) -> nn.Module:
    """W (g * n + b) + c = (W diag(g)) n + (W b + c), for a LayerNorm or an RMSNorm that linear layers alone read."""
    from axioms.rewrites.patterns.norms import norms_with_readers

    for norm, readers in norms_with_readers(model):
        for reader in readers:
            weight = reader.weight if norm.gain is None else reader.weight * norm.gain
            reader.write(weight, reader.bias_after(norm.bias))
        norm.reset()
    return model


@rewrite("fold_batch_norm")
def fold_batch_norm(model: nn.Module) -> nn.Module:
    """s (W x + b - mean) + beta = (s W) x + (s (b - mean) + beta) with s = gamma / sqrt(var + eps)."""
    import torch
    from torch import nn

    from axioms.rewrites.patterns.norms import layers_with_batch_norm

    for layer, owner, name in layers_with_batch_norm(model):
        norm = getattr(owner, name)
        scale = torch.rsqrt(norm.running_var + norm.eps)
        scale = scale if norm.weight is None else scale * norm.weight.data
        bias = -norm.running_mean if layer.bias is None else layer.bias - norm.running_mean
        bias = bias * scale if norm.bias is None else bias * scale + norm.bias.data
        layer.write(layer.weight * scale.reshape(-1, *(1,) * (layer.weight.dim() - 1)), bias)
        setattr(owner, name, nn.Identity())
    return model
