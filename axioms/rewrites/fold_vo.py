"""W_O folded into W_V as far as the shapes allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


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
        blocks = weight.reshape(outputs, heads, group, width).permute(1, 2, 0, 3).reshape(heads, group * outputs, width)
        if blocks.shape[1] < width:
            raise NotApplicable("its heads are wider than what they are mapped to.")
        q, r = torch.linalg.qr(blocks)
        new = q.reshape(heads, group, outputs, width).permute(2, 0, 1, 3).reshape(outputs, -1)
        attention.output.change_inputs(lambda weight, new=new: new)  # type: ignore[misc]
        value, bias = attention.value.weight, attention.value.bias
        value = (r @ value.reshape(heads, width, -1)).flatten(0, 1)
        bias = None if bias is None else (r @ bias.reshape(heads, width, 1)).flatten()
        attention.value.write(value, bias)
    return model
