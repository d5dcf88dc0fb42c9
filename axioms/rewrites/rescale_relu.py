"""ReLU passes positive factors on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("rescale_relu")
def rescale_relu(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """W_2 relu(W_1 x) = (W_2 / c) relu(c W_1 x) for c > 0, with another c for every second unit."""
    import torch
    from torch import nn

    from axioms.rewrites.patterns.mlp import mlps
    from axioms.rewrites.rescale_qk import scaled

    found = [mlp for mlp in mlps(model) if isinstance(mlp.activation, nn.ReLU | nn.LeakyReLU) and len(mlp.first) == 1]
    if not found:
        raise NotApplicable("no linear layer of the model is followed by ReLU and another linear layer.")
    for mlp in found:
        up = torch.tensor([factor ** (1 - 2 * (unit % 2)) for unit in range(mlp.neurons)], dtype=torch.float64)
        if mlp.norm is None:
            mlp.first[0].change_outputs(lambda rows, by=up: scaled(rows, by))  # type: ignore[misc]
        else:
            mlp.norm.weight.data *= up.to(mlp.norm.weight)
            mlp.norm.bias.data *= up.to(mlp.norm.bias)
        mlp.last.change_inputs(
            lambda weight, by=up: weight / by.to(weight).reshape(1, -1, *(1,) * (weight.dim() - 2))  # type: ignore[misc]
        )
    return model
