"""Random numbers for every parameter of a model, so that nothing passes on it by being trivial."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm


def randomize(model: nn.Module, seed: int, gains: Collection[str], *, biases: float = 0.3) -> None:
    """Draw the parameters: matrices with entries of size 1.5 / sqrt(inputs), `gains` about 1, all others about 0.

    `gains` are the names of the parameters that norms multiply with, and `biases` is the size of the others. What batch
    norms remember of their training is drawn too.
    """
    generator = torch.Generator().manual_seed(seed)

    def noise_like(numbers: torch.Tensor) -> torch.Tensor:
        return torch.randn(numbers.shape, generator=generator, dtype=torch.float64)

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = noise_like(parameter)
            if parameter.dim() > 1:
                parameter.copy_(1.5 * noise / parameter[0].numel() ** 0.5)
            else:
                parameter.copy_(1 + 0.3 * noise if name in gains else 0.0 + biases * noise)  # no -0.0
        for module in model.modules():
            if isinstance(module, BatchNorm) and module.running_mean is not None and module.running_var is not None:
                module.running_mean.copy_(0.3 * noise_like(module.running_mean))
                module.running_var.copy_(0.5 + noise_like(module.running_var) ** 2)
