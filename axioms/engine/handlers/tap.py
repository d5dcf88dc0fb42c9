"""Relevance anywhere: at the output of a module, of a layer, or of each attention head of a layer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn

from axioms.core.errors import InputError, did_you_mean
from axioms.engine import facts
from axioms.engine.composite import layer_number
from axioms.engine.operations import Linear, Operation, Product


class Tap:
    """Catches the value at a place during the forward pass.

    The place is `layer.6` (what the sixth layer puts out), `layer.6.heads` (A V in it: batch x heads x tokens x width),
    or the path of any module.
    """

    def __init__(self, at: str) -> None:
        self.at = at
        self.value: Tensor | None = None
        self.relevance: Tensor | None = None
        match = re.fullmatch(r"layer\.(\d+)(\.heads)?", at)
        self.layer = int(match.group(1)) if match else None
        self.heads = bool(match and match.group(2))

    @contextmanager
    def listening(self, model: nn.Module) -> Iterator[None]:
        """Catch the output of the module, where the place is one."""
        if self.heads:
            yield
            return
        handle = self._module(model).register_forward_hook(self._catch)
        try:
            yield
        finally:
            handle.remove()

    def see(self, operation: Operation, value: Tensor, path: str) -> None:
        """Catch A V, where the place is the heads of a layer."""
        operands = operation.factors if isinstance(operation, Product) else ()
        if isinstance(operation, Linear):
            operands = (operation.input, operation.weight)
        if self.heads and layer_number(path) == self.layer and any(facts.of(x).is_weights for x in operands):
            self.value = value

    def _catch(self, module: nn.Module, args: Any, output: Any) -> None:
        value = output if isinstance(output, Tensor) else output[0]
        self.value = value if isinstance(value, Tensor) else None

    def _module(self, model: nn.Module) -> nn.Module:
        modules = dict(model.named_modules())
        if self.layer is not None:
            for path, module in modules.items():
                if layer_number(path) == self.layer and path.endswith(f".{self.layer - 1}"):
                    return module
            layers = {layer_number(path) for path in modules} - {None}
            raise InputError(f"there is no layer {self.layer}; the model has {len(layers)}, numbered from 1.")
        if self.at not in modules:
            raise InputError(f"the model has no module {self.at!r}.{did_you_mean(self.at, modules)}")
        return modules[self.at]


ACTIVE: ContextVar[Tap | None] = ContextVar("axioms_tap", default=None)


@contextmanager
def tapping(at: str) -> Iterator[Tap]:
    """Give a tap that the engine fills while this is open."""
    tap = Tap(at)
    token = ACTIVE.set(tap)
    try:
        yield tap
    finally:
        ACTIVE.reset(token)
