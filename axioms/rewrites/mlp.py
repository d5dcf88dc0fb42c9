"""Rewrites of an MLP: the order and the scale of its hidden units, and its ReLU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn


@rewrite("permute_neurons")
def permute_neurons(model: nn.Module) -> nn.Module:
    """W_2 g(W_1 x) = (W_2 P') g(P W_1 x) for a permutation P, since g works entry by entry."""
    import torch

    from axioms.rewrites.patterns.mlp import mlps

    for mlp in mlps(model):
        order = torch.arange(mlp.neurons).roll(1)
        for first in mlp.first:
            first.select_outputs(order)
        if mlp.norm is not None:
            for name in ("weight", "bias", "running_mean", "running_var"):
                values = getattr(mlp.norm, name)
                if values is not None:
                    values.data = values.data[order]
        mlp.last.select_inputs(order)
    return model


@rewrite("rescale_relu")
def rescale_relu(model: nn.Module, *, factor: float = 3.0) -> nn.Module:
    """W_2 relu(W_1 x) = (W_2 / c) relu(c W_1 x) for c > 0, with another c for every second unit."""
    from torch import nn

    from axioms.rewrites.patterns.layers import alternating
    from axioms.rewrites.patterns.mlp import mlps

    with_relu = [mlp for mlp in mlps(model) if isinstance(mlp.activation, nn.ReLU | nn.LeakyReLU)]
    ungated = [mlp for mlp in with_relu if len(mlp.first) == 1]
    if not ungated:
        raise NotApplicable("no linear layer of the model is followed by ReLU and another linear layer.")
    for mlp in ungated:
        scale = alternating(factor, mlp.neurons)
        if mlp.norm is None:
            mlp.first[0].scale_outputs(scale)
        else:
            mlp.norm.weight.data *= scale.to(mlp.norm.weight)
            mlp.norm.bias.data *= scale.to(mlp.norm.bias)
        mlp.last.divide_inputs(scale)
    return model


@rewrite("relu_rearranged")
def relu_rearranged(model: nn.Module, *, shift: float = 1.0) -> nn.Module:
    """relu(x) = relu(relu(x + c) - c) for c >= 0 (after Sundararajan et al. 2017), c in the biases of linear maps."""
    import torch
    from torch import nn

    from axioms.rewrites.patterns.calls import rewrite_activation
    from axioms.rewrites.patterns.modules import shifted

    def rearranged(input: Tensor, inplace: bool = False) -> Tensor:
        return torch.relu(shifted(torch.relu(shifted(input, shift)), -shift))

    def formula(module: nn.Module) -> object:
        return rearranged if isinstance(module, nn.ReLU) else None

    return rewrite_activation(model, formula, {"relu": rearranged}, "ReLU")
