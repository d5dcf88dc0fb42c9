"""Where in the model a call happens, and modules that are one operation however many calls they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def is_activation(module: nn.Module) -> bool:
    """Whether the module is an element-wise activation: it may be several calls (`gelu_new`), but is one operation.

    Known by where its class comes from, or by its name if it has nothing of its own (BLOOM's `BloomGelu`).
    """
    kind = type(module)
    if isinstance(module, NOT_POINTWISE) or next(module.children(), None) is not None:
        return False
    plain = next(module.parameters(), None) is None and next(module.buffers(), None) is None
    return kind.__module__ in ACTIVATION_CLASSES or (plain and NAMES.search(kind.__name__) is not None)


@contextmanager
def watching(model: nn.Module, replace: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> Iterator[Where]:
    """Follow the forward pass by hooks, which are gone on exit; `replace` gives an activation module's output.

    Activations do not work in place meanwhile: their rule needs the input as it was.
    """
    where = Where()
    handles = []

    def enter(path: str, activation: bool) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any) -> None:
            where.paths.append(path)
            where.inside_activation += activation

        return hook

    def leave(activation: bool) -> Callable[..., Any]:
        def hook(module: nn.Module, args: Any, output: Any) -> Any:
            where.inside_activation -= activation
            replaced = None
            if (
                activation
                and not where.inside_activation
                and args
                and isinstance(output, Tensor)
                and args[0].requires_grad
            ):
                replaced = replace(module, args[0], output)
            where.paths.pop()
            return replaced

        return hook

    in_place = [module for module in model.modules() if is_activation(module) and getattr(module, "inplace", False)]
    for module in in_place:
        module.inplace = False  # type: ignore[assignment]
    for name, module in model.named_modules():
        activation = is_activation(module)
        handles += [
            module.register_forward_pre_hook(enter(name, activation)),
            module.register_forward_hook(leave(activation)),
        ]
    try:
        yield where
    finally:
        for handle in handles:
            handle.remove()
        for module in in_place:
            module.inplace = True  # type: ignore[assignment]
