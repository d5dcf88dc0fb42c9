"""A batch norm belongs as well to the layer before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("fold_batch_norm")
def fold_batch_norm(model: nn.Module) -> nn.Module:
    """s (W x + b - mean) + beta = (s W) x + (s (b - mean) + beta) with s = gamma / sqrt(var + eps)."""
    import torch
    from torch import nn

    from axioms.rewrites.patterns.batch_norm import with_batch_norm

    for layer, owner, name in with_batch_norm(model):
        norm = getattr(owner, name)
        scale = torch.rsqrt(norm.running_var + norm.eps)
        scale = scale if norm.weight is None else scale * norm.weight.data
        bias = -norm.running_mean if layer.bias is None else layer.bias - norm.running_mean
        bias = bias * scale if norm.bias is None else bias * scale + norm.bias.data
        layer.write(layer.weight * scale.reshape(-1, *(1,) * (layer.weight.dim() - 1)), bias)
        setattr(owner, name, nn.Identity())
    return model
