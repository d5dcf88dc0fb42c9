"""Rewrites of linear layers: one as two, two as one, and a branch that adds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("split_linear")
def split_linear(model: nn.Module) -> nn.Module:
    """W x + b = U (S V' x) + b by the singular value decomposition of W, for every linear layer."""
    from axioms.rewrites.patterns.layers import is_linear, replace_some
    from axioms.rewrites.patterns.modules import InTwo

    return replace_some(model, lambda module: InTwo(module) if is_linear(module) else None, "linear layer inside")


@rewrite("merge_linear")
def merge_linear(model: nn.Module) -> nn.Module:
    """W_2 (W_1 x + b_1) + b_2 = (W_2 W_1) x + (W_2 b_1 + b_2), for linear layers that follow each other in a row."""
    from torch import nn

    from axioms.rewrites.patterns.layers import Map, is_linear
    from axioms.rewrites.patterns.modules import linear

    merged = 0
    for module in list(model.modules()):
        if not isinstance(module, nn.Sequential):
            continue
        for place in range(len(module) - 1):
            if is_linear(module[place]) and is_linear(module[place + 1]):
                first, second = Map.whole(module[place]), Map.whole(module[place + 1])
                module[place] = nn.Identity()
                module[place + 1] = linear(second.weight @ first.weight, second.bias_after(first.bias))
                merged += 1
    if not merged:
        raise NotApplicable("no two linear layers of the model follow each other with nothing between.")
    return model


@rewrite("add_zero_branch")
def add_zero_branch(model: nn.Module) -> nn.Module:
    """W x + b = W x + b + B x + (-B) x, for every linear layer, with a random B of W's size."""
    from axioms.rewrites.patterns.layers import is_linear, replace_some
    from axioms.rewrites.patterns.modules import WithZero

    return replace_some(model, lambda module: WithZero(module) if is_linear(module) else None, "linear layer inside")
