"""A norm's gain and bias belong as well to the layer that follows."""

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
            weight, bias = reader.weight, reader.bias
            if norm.bias is not None:
                more = weight @ norm.bias
                bias = more if bias is None else bias + more
            reader.write(weight if norm.gain is None else weight * norm.gain, bias)
        norm.reset()
    return model
