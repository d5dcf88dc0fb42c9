"""Values up, the output map down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("rescale_vo")
def rescale_vo(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """A (V D)(D^-1 W_O) = A V W_O for a diagonal D: value channels times factor, 1 / factor, factor, ..."""
    import torch

    from axioms.rewrites.patterns.attention import attentions
    from axioms.rewrites.rescale_qk import scaled

    for attention in attentions(model):
        channels = attention.shared * attention.width
        up = torch.tensor([factor ** (1 - 2 * (channel % 2)) for channel in range(channels)], dtype=torch.float64)
        wide = up.reshape(attention.shared, -1).repeat_interleave(attention.group, 0).flatten()
        attention.value.change_outputs(lambda rows, by=up: scaled(rows, by))  # type: ignore[misc]
        attention.output.change_inputs(lambda weight, by=wide: weight / by.to(weight))  # type: ignore[misc]
    return model
