"""Hidden units are added up, so their order does not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("permute_neurons")
def permute_neurons(model: nn.Module) -> nn.Module:
    """W_2 g(W_1 x) = (W_2 P') g(P W_1 x) for a permutation P, since g works entry by entry."""
    import torch

    from axioms.rewrites.patterns.mlp import mlps

    for mlp in mlps(model):
        order = torch.arange(mlp.neurons).roll(1)
        for first in mlp.first:
            first.change_outputs(lambda rows, order=order: rows[order])  # type: ignore[misc]
        if mlp.norm is not None:
            for name in ("weight", "bias", "running_mean", "running_var"):
                values = getattr(mlp.norm, name)
                if values is not None:
                    values.data = values.data[order]
        mlp.last.change_inputs(lambda weight, order=order: weight[:, order])  # type: ignore[misc]
    return model
