"""Heads are added up, so their order does not matter."""

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
    from axioms.rewrites.patterns.attention import attentions, heads_differ

    found = attentions(model)
    if heads_differ(model):
        raise NotApplicable("its heads have position biases of their own, which would have to move too.")
    if all(attention.heads == 1 for attention in found):
        raise NotApplicable("the model has one head only.")
    for attention in found:
        shared = [*range(1, attention.shared), 0]
        inside = [*range(1, attention.group), 0]
        heads = [attention.group * of + each for of in shared for each in inside]
        for which, order in ((attention.query, heads), (attention.key, shared), (attention.value, shared)):
            which.change_outputs(lambda rows, order=order, at=attention: at.per_head(rows)[order].flatten(0, 1))  # type: ignore[misc]
        attention.output.change_inputs(
            lambda weight, order=heads, at=attention: at.per_head(weight, 1)[:, order].flatten(1)  # type: ignore[misc]
        )
    return model
