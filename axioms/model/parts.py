"""The modules of a model, listed once while it is held: walking through a model takes longer than it looks.

A model has hundreds of modules, and a propagation asks for all of them several times. While a model is at rest nobody
exchanges its modules, so that one list serves everybody who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from weakref import WeakKeyDictionary

from torch import nn

_HELD: WeakKeyDictionary[nn.Module, Parts] = WeakKeyDictionary()


class Parts:
    """What a model is made of."""

    def __init__(self, module: nn.Module) -> None:
        self.named: Sequence[tuple[str, nn.Module]] = list(module.named_modules())

    @cached_property
    def parameters(self) -> Sequence[nn.Parameter]:
        """Every parameter once, also one that several modules share."""
        known = {
            id(parameter): parameter
            for _, module in self.named
            for parameter in module._parameters.values()
            if parameter is not None
        }
        return list(known.values())

    @cached_property
    def embeddings(self) -> Sequence[nn.Embedding]:
        """The embeddings, in the order of the modules."""
        return [module for _, module in self.named if isinstance(module, nn.Embedding)]


def parts_of(module: nn.Module) -> Parts:
    """Return what a model is made of: as it was when the model was first held, or as it is now."""
    held = _HELD.get(module)
    return Parts(module) if held is None else held


@contextmanager
def holding(module: nn.Module) -> Iterator[Parts]:
    """Remember the model's parts until the end of the block. Call it with the model's lock."""
    if module in _HELD:
        yield _HELD[module]
        return
    parts = _HELD[module] = Parts(module)
    try:
        yield parts
    finally:
        del _HELD[module]
