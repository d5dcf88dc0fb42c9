"""Two linear maps as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


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
                bias = second.bias
                if first.bias is not None:
                    more = second.weight @ first.bias
                    bias = more if bias is None else bias + more
                module[place] = nn.Identity()
                module[place + 1] = linear(second.weight @ first.weight, bias)
                merged += 1
    if not merged:
        raise NotApplicable("no two linear layers of the model follow each other with nothing between.")
    return model
