"""The weights of a model, which a method must leave as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextmanager
def putting_back(module: nn.Module) -> Iterator[list[str]]:
    """Give the weights the values back that they had; the list names those that had changed, once the block is over."""
    import torch

    before = {name: (tensor, tensor.detach().clone()) for name, tensor in _tensors(module)}
    changed: list[str] = []
    try:
        yield changed
    finally:
        with torch.no_grad():
            for name, (tensor, values) in before.items():
                if not torch.equal(tensor, values) and not torch.allclose(
                    tensor, values, rtol=0, atol=0, equal_nan=True
                ):
                    changed.append(name)
                    tensor.data.copy_(values)


def _tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from module.named_parameters()
    yield from module.named_buffers()
