"""Where in the model a call happens, and modules that are one operation however many calls they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from axioms.engine.facts import is_variable
from axioms.model.parts import parts_of

PROBE = (-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 40.0)
"""Numbers on both sides of zero, small and large, in no ratio that an activation would single out."""
NOTHING: frozenset[str] = frozenset()
_PROBED: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


class Where:
    """The path of the module that is being called, and whether it is part of something that is one operation."""

    def __init__(self, owned: Mapping[str, frozenset[str]] | None = None) -> None:
        self.paths = [""]
        self.opaque = 0
        """How many modules that are one operation each (an activation, a block) are being called."""
        self.activation: Callable[[nn.Module, Tensor, Tensor], Tensor] = lambda module, x, value: value
        """Gives the output of an activation module, from its input and what it put out itself."""
        self._owned = {} if owned is None else owned

    @property
    def is_opaque(self) -> bool:
        """Whether what is called now is part of one operation, and none by itself."""
        return self.opaque > 0

    @property
    def path(self) -> str:
        """The innermost module's path; empty for the model itself."""
        return self.paths[-1]

    @property
    def owned(self) -> frozenset[str]:
        """The names of the innermost module's own parameters."""
        return self._owned.get(self.paths[-1], NOTHING)


def is_activation(module: nn.Module) -> bool:
    """Tell whether a module is an activation of each entry: several calls perhaps (`gelu_new`), but one operation.

    Known by what it does to a few numbers, not by its name: each by itself gives what all together give, zero gives
    zero, and it is not linear (dropout at rest, an identity). Modules with modules or more than scalars of their own
    are none; what they call is seen one by one. So is what a module calls that says `one_operation = False`.
    """
    if not getattr(module, "one_operation", True) or module._modules:
        return False
    numbers = (*module._parameters.values(), *module._buffers.values())  # it has no modules that could have more
    if any(number is not None and number.numel() > 1 for number in numbers):
        return False
    if module not in _PROBED:
        _PROBED[module] = _acts_on_entries(module)
    return _PROBED[module]


def _acts_on_entries(module: nn.Module) -> bool:
    known = next(iter((*module.parameters(), *module.buffers())), None)
    dtype, device = (torch.float64, torch.device("cpu")) if known is None else (known.dtype, known.device)
    try:
        with torch.no_grad(), torch._C.DisableTorchFunction():  # a question to the module, not a part of the model
            numbers = torch.tensor(PROBE, dtype=dtype, device=device)
            together = module.forward(numbers.clone())
            alone = torch.stack([module.forward(number.clone()) for number in numbers])
            zero, one = together[PROBE.index(0.0)], together[PROBE.index(1.0)]
            pointwise = torch.allclose(together, alone) and bool(zero == 0)
            return pointwise and not torch.allclose(together, one * numbers)
    except Exception:  # it takes something else than one tensor, or makes something else of it
        return False


@contextmanager
def watching(model: nn.Module) -> Iterator[Where]:
    """Follow the forward pass by hooks, which are gone on exit.

    Activations do not work in place meanwhile: their rule needs the input as it was.
    """
    owned: dict[str, frozenset[str]] = {}
    where = Where(owned)
    paths = where.paths
    handles, in_place = [], []

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        paths.pop()

    def enter_activation(module: nn.Module, args: Any) -> None:
        where.opaque += 1

    def leave_activation(module: nn.Module, args: Any, output: Any) -> Any:
        outermost = where.opaque == 1 and args and isinstance(output, Tensor) and is_variable(args[0])
        replaced = where.activation(module, args[0], output) if outermost else None
        where.opaque -= 1  # not before: what a rule computes is no operation of the model
        return replaced

    def enter(path: str) -> Callable[..., None]:
        return lambda module, args: paths.append(path)

    for path, module in parts_of(model).named:
        handles.append(module.register_forward_pre_hook(enter(path)))
        if module._parameters:
            owned[path] = frozenset(module._parameters)
        if path and is_activation(module):
            handles.append(module.register_forward_pre_hook(enter_activation))
            handles.append(module.register_forward_hook(leave_activation))
            if getattr(module, "inplace", False):
                in_place.append(module)
                module.inplace = False  # type: ignore[assignment]
        handles.append(module.register_forward_hook(leave))
    try:
        yield where
    finally:
        for handle in handles:
            handle.remove()
        for module in in_place:
            module.inplace = True  # type: ignore[assignment]
