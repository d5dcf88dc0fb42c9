"""Modules that rewrites put in the place of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from axioms.rewrites.patterns.layers import oriented
from axioms.rewrites.patterns.norms import Norm


def linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """Return a Linear with these numbers."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None, device=weight.device, dtype=weight.dtype)
    layer.weight.data = weight.clone()
    if bias is not None:
        layer.bias.data = bias.clone()
    return layer


class StandIn(nn.Module):
    """A module in the place of a layer, also for code that reads the layer's weight instead of calling it."""

    def show_numbers_of(self, layer: Any) -> None:
        """Show the weight and bias of the layer as buffers: they are no parameters here."""
        for name in ("weight", "bias"):
            numbers = getattr(layer, name, None)
            self.register_buffer(name, None if numbers is None else numbers.data.clone(), persistent=False)


class InTwo(StandIn):
    """W x + b as U (S V' x) + b, the singular value decomposition of W."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.show_numbers_of(layer)
        u, s, v = torch.linalg.svd(oriented(layer), full_matrices=False)
        self.first = linear(s.unsqueeze(1) * v, None)
        self.second = linear(u, None if layer.bias is None else layer.bias.data)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output of the second layer on that of the first."""
        return self.second(self.first(x))


class WithZero(StandIn):
    """W x + b + B x + (-B) x."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.show_numbers_of(layer)
        weight = oriented(layer)
        generator = torch.Generator().manual_seed(0)
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64).to(weight)
        self.layer = layer
        self.plus = linear(weight.std(correction=0) * noise, None)
        self.minus = linear(-self.plus.weight.data, None)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the layer and the two branches that cancel."""
        return self.layer(x) + self.plus(x) + self.minus(x)


class Part(nn.Module):
    """Some of the outputs of a layer that others share."""

    def __init__(self, whole: nn.Linear, start: int, size: int) -> None:
        super().__init__()
        self.whole, self.start, self.size = whole, start, size

    def forward(self, x: Tensor) -> Tensor:
        """Return this part of the output of the whole."""
        return self.whole(x).narrow(-1, self.start, self.size)


class SideBySide(nn.Module):
    """The outputs of several layers in a row."""

    def __init__(self, layers: list[nn.Linear]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs of all layers, concatenated."""
        return torch.cat([layer(x) for layer in self.layers], dim=-1)


class Written(nn.Module):
    """A function written out in torch calls, each of which is an operation of its own."""

    one_operation = False
    """Read by the engine: what this module calls is seen call by call."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of x."""
        return self.function(x)


class WrittenNorm(nn.Module):
    """(x - mean) / sqrt(mean square of that + eps) * gain + bias; without the mean for an RMS norm."""

    def __init__(self, norm: Norm) -> None:
        super().__init__()
        self.eps, self.is_centered = norm.eps, norm.is_centered
        self.register_buffer("weight", norm.gain)
        self.register_buffer("bias", norm.bias)

    weight: Tensor | None
    bias: Tensor | None

    def forward(self, x: Tensor) -> Tensor:
        """Return the norm of x by its formula."""
        centered = x - x.mean(-1, keepdim=True) if self.is_centered else x
        normed = centered / torch.sqrt((centered * centered).mean(-1, keepdim=True) + self.eps)
        normed = normed if self.weight is None else normed * self.weight
        return normed if self.bias is None else normed + self.bias


class CastUp(StandIn):
    """A layer that computes in float64 whatever the rest computes in; the result is cast back."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.show_numbers_of(layer)
        self.layer = layer.double()

    def _apply(self, fn: Any, recurse: bool = True) -> CastUp:
        super()._apply(fn, recurse)
        self.layer.double()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, computed in float64, in the dtype of x."""
        return self.layer(x.to(torch.float64)).to(x.dtype)


def shifted(x: Tensor, by: float) -> Tensor:
    """Return x + by as a linear map with a bias, entry by entry."""
    return F.linear(x.unsqueeze(-1), x.new_ones(1, 1), x.new_full((1,), by)).squeeze(-1)
