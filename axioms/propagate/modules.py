"""Where in the model a call happens, and modules that are one operation however many calls they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from torch import Tensor, nn

ACTIVATION_CLASSES = ("transformers.activations", "torch.nn.modules.activation")
NAMES = re.compile("gelu|relu|silu|swish|mish", re.IGNORECASE)
NOT_POINTWISE = (
    nn.Softmax,
    nn.Softmin,
    nn.LogSoftmax,
    nn.Softmax2d,
    nn.MultiheadAttention,
    nn.GLU,
    nn.Sigmoid,
    nn.Softplus,
)


class Where:
    """The path of the module that is being called, and the activation module that is being called, if one is."""

    def __init__(self) -> None:
        self.paths = [""]
        self.inside_activation = 0

    @property
    def path(self) -> str:
        """The innermost module's path; empty for the model itself."""
        return self.paths[-1]


@cache
def _is_activation_class(kind: type[nn.Module]) -> bool | None:
    """Whether modules of a class are activations by where it comes from; None where they are only by their name."""
    if issubclass(kind, NOT_POINTWISE):
        return False
    if kind.__module__ in ACTIVATION_CLASSES:
        return True
    return None if NAMES.search(kind.__name__) else False


def is_activation(module: nn.Module) -> bool:
    """Whether the module is an element-wise activation: it may be several calls (`gelu_new`), but is one operation.

    Known by where its class comes from, or by its name if it has nothing of its own (BLOOM's `BloomGelu`).
    """
    known = _is_activation_class(type(module))  # type: ignore[arg-type]
    if known is False or module._modules:
        return False
    return known or (next(module.parameters(), None) is None and next(module.buffers(), None) is None)


@contextmanager
def watching(model: nn.Module, replace: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> Iterator[Where]:
    """Follow the forward pass by hooks, which are gone on exit; `replace` gives an activation module's output.

    Activations do not work in place meanwhile: their rule needs the input as it was.
    """
    where = Where()
    paths = where.paths
    handles, in_place = [], []

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        paths.pop()

    def enter_activation(module: nn.Module, args: Any) -> None:
        where.inside_activation += 1

    def leave_activation(module: nn.Module, args: Any, output: Any) -> Any:
        where.inside_activation -= 1
        outermost = not where.inside_activation and args and isinstance(output, Tensor) and args[0].requires_grad
        return replace(module, args[0], output) if outermost else None

    def enter(path: str) -> Callable[..., None]:
        return lambda module, args: paths.append(path)

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(path)))
        if is_activation(module):
            handles.append(module.register_forward_pre_hook(enter_activation))
            handles.append(module.register_forward_hook(leave_activation))
            if getattr(module, "inplace", False):
                in_place.append(module)
                module.inplace = False
        handles.append(module.register_forward_hook(leave))
    try:
        yield where
    finally:
        for handle in handles:
            handle.remove()
        for module in in_place:
            module.inplace = True
