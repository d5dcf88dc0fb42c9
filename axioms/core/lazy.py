"""numpy and torch, imported when they are first used: specs are validated and collected without them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any


class Lazy:
    """A stand-in for a module, which is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        member = getattr(import_module(self._name), name)
        setattr(self, name, member)
        return member


if TYPE_CHECKING:
    import numpy as np
    import torch
else:
    np, torch = Lazy("numpy"), Lazy("torch")

__all__ = ["Lazy", "np", "torch"]
