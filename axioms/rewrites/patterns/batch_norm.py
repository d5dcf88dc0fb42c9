"""Layers that a batch norm follows."""

from __future__ import annotations

import re
from itertools import pairwise

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm

from axioms.rewrites.patterns.layers import CONVOLUTIONS, Map, at_least_one, is_linear


def with_batch_norm(model: nn.Module) -> list[tuple[Map, nn.Module, str]]:
    """Layer, the module that owns its batch norm, and that norm's name there: in a row, or `conv1` and `bn1`."""
    found = []
    for owner in model.modules():
        children = dict(owner.named_children())
        if isinstance(owner, nn.Sequential):
            names = list(children)
            pairs = list(pairwise(names))
        else:
            pairs = [(re.sub("bn|norm", "conv", name), name) for name in children]
        for first, second in pairs:
            layer, norm = children.get(first), children[second]
            if isinstance(norm, BatchNorm) and norm.running_mean is not None and _is_layer(layer):
                found.append((Map.whole(layer), owner, second))
    return at_least_one(found, "convolution or linear layer that a batch norm with running statistics follows")


def _is_layer(module: object) -> bool:
    return is_linear(module) or isinstance(module, CONVOLUTIONS)
