"""The torch modules behind the small subjects."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Expression(nn.Module):
    """A scalar expression of the features: each is passed as one argument."""

    def __init__(self, expression: Callable[..., Tensor]) -> None:
        super().__init__()
        self.expression = expression

    def forward(self, features: Tensor) -> Tensor:
        """Return the value for each example."""
        return self.expression(*features.unbind(dim=1))


def fixed_linear(weight: list[list[float]], bias: list[float] | None) -> nn.Linear:
    """Return a linear layer with these numbers."""
    layer = nn.Linear(len(weight[0]), len(weight), bias=bias is not None, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))
    return layer


def random_relu_net(seed: int) -> nn.Module:
    """Return a network of a 4 x 4 image: convolution, batch norm, ReLU, convolution, ReLU, three linear layers."""
    net = nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16, 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Linear(8, 6),
        nn.Linear(6, 3),
    ).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, numbers in net.state_dict().items():
            noise = torch.randn(numbers.shape, generator=generator, dtype=torch.float64)
            if name.endswith("running_var"):
                numbers.copy_(0.5 + noise**2)
            elif numbers.is_floating_point():
                numbers.copy_(noise / numbers[0].numel() ** 0.5 if numbers.dim() > 1 else 0.5 * noise)
    return net.eval()


class SummedNorm(nn.Module):
    """sum_i w_i (x_i - mean) / deviation, or without the mean for an RMS norm."""

    def __init__(self, weight: list[float], norm: str) -> None:
        super().__init__()
        self.norm = norm
        self.register_buffer("weight", torch.tensor(weight, dtype=torch.float64))

    weight: Tensor

    def forward(self, features: Tensor) -> Tensor:
        """Return the sum for each example."""
        shape = self.weight.shape
        if self.norm == "layer":
            return nn.functional.layer_norm(features, shape, self.weight, eps=0.0).sum(dim=1)
        return nn.functional.rms_norm(features, shape, self.weight, eps=0.0).sum(dim=1)


class ScalarAttention(nn.Module):
    """Z = Q K' / sqrt(d_k), A = softmax(Z), O = A V over scalar tokens (equation 2); the output is O's first row."""

    def __init__(self, query: float, key: float, value: float, transposed: bool = False) -> None:
        super().__init__()
        self.transposed = transposed
        for name, number in {"query": query, "key": key, "value": value}.items():
            self.register_buffer(name, torch.tensor([[number]], dtype=torch.float64))

    query: Tensor
    key: Tensor
    value: Tensor

    def forward(self, features: Tensor) -> Tensor:
        """Return the first token's attention output for each example."""
        tokens = features.unsqueeze(-1)
        q, k, v = tokens @ self.query, tokens @ self.key, tokens @ self.value
        logits = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = torch.softmax(logits, dim=-1)
        mixed = v.transpose(-2, -1) @ weights.transpose(-2, -1) if self.transposed else weights @ v
        return mixed[:, 0, 0]


class AttentionBlock(nn.Module):
    """Equation (2) with d_k = 1 over tokens of two numbers, a key and a value; the output is O's first row."""

    def __init__(self, level: float) -> None:
        super().__init__()
        for name, weight in {"query": [level, 0.0], "key": [1.0, 0.0], "value": [0.0, 1.0]}.items():
            self.register_buffer(name, torch.tensor(weight, dtype=torch.float64).unsqueeze(1))

    query: Tensor
    key: Tensor
    value: Tensor

    def forward(self, features: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the first token's attention output for each example, over the tokens that are not masked."""
        q, k, v = features @ self.query, features @ self.key, features @ self.value
        lowest = torch.zeros_like(attention_mask, dtype=features.dtype)
        lowest.masked_fill_(attention_mask == 0, torch.finfo(features.dtype).min)
        weights = torch.softmax(q @ k.transpose(-2, -1) + lowest[:, None, :], dim=-1)
        return (weights @ v)[:, 0, 0]


class LinearAttention(nn.Module):
    """Attention without softmax over pixels. `order` changes the grouping of the product and nothing else."""

    def __init__(
        self, *, order: str, position: bool, embed: bool, pool: str, length: int, width: int, classes: int
    ) -> None:
        super().__init__()
        self.order = order
        self.pool = pool
        self.embed = nn.Linear(1, width) if embed else None
        entry = width if embed else 1
        self.position = nn.Parameter(0.02 * torch.randn(length, entry)) if position else None
        self.query = nn.Linear(entry, width)
        self.key = nn.Linear(entry, width)
        self.value = nn.Linear(entry, width)
        self.out = nn.Linear(width if pool == "mean" else length * width, classes)

    def forward(self, features: Tensor) -> Tensor:
        """Return class logits for each image, given as its pixels."""
        tokens = features.unsqueeze(-1)
        if self.embed is not None:
            tokens = self.embed(tokens)
        if self.position is not None:
            tokens = tokens + self.position
        q, k, v = self.query(tokens), self.key(tokens), self.value(tokens)
        k = k.transpose(-2, -1)
        mixed = (q @ k) @ v if self.order == "left" else q @ (k @ v)
        return self.out(mixed.mean(dim=1) if self.pool == "mean" else mixed.flatten(1))
