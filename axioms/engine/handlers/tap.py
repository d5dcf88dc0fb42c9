"""Relevance anywhere: at the output of a module, of a layer, or of a part of a layer; there values can be replaced too.

The parts of a layer are found by what it computes, so that no model class is named here: `heads` is A V, `queries` and
`keys` are the factors of Q K', and `mlp` is the linear map after an activation or a gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from axioms.core.errors import InputError, NotDefined, did_you_mean
from axioms.engine import facts
from axioms.engine.composite import layer_number
from axioms.engine.operations import Linear, Operation, Product, Softmax

HEADS, MLP, QUERIES, KEYS = "heads", "mlp", "queries", "keys"


@dataclass
class Softened:
    """The softmax of an attention whose queries or keys a tap caught, for methods that look at the softmax itself."""

    product: Tensor
    """Q K'"""
    scores: Tensor
    """What the softmax was given: Q K', scaled and masked."""
    weights: Tensor
    """A"""
    other: Tensor
    """The other factor of the product: K' where queries were caught, Q where keys were."""
    scale: Tensor | None = None
    """The derivative of the scores with respect to Q K', entry by entry."""
    gradient: Tensor | None = None
    """That of the target with respect to A."""


class Tap:
    """Catches the value at a place during the forward pass, and puts another there where it is told to.

    The place is `layer.6` (what the sixth layer puts out), `layer.6.heads` (A V in it: batch x heads x tokens x width),
    `layer.6.queries` or `layer.6.keys` (of the same shape), `layer.6.mlp`, or the path of any module.
    """

    def __init__(self, at: str, replace: Callable[[Tensor], Tensor] | None = None) -> None:
        self.at = at
        self.replace = replace
        """Gives what takes the place of the value, of which it may change a copy."""
        match = re.fullmatch(rf"layer\.(\d+)(?:\.({HEADS}|{MLP}|{QUERIES}|{KEYS}))?", at)
        self.layer = int(match.group(1)) if match else None
        self.part = match.group(2) if match else None
        self.clear()

    def clear(self) -> None:
        """Forget what was caught: another forward pass begins."""
        self.caught: Tensor | None = None
        self.slope: Tensor | None = None
        """The gradient of the target with respect to what was caught."""
        self.softened: Softened | None = None
        self._product: tuple[Tensor, Tensor] | None = None

    @property
    def value(self) -> Tensor | None:
        """What was caught; keys with their width last, as queries have it."""
        return self._oriented(self.caught)

    @property
    def gradient(self) -> Tensor | None:
        """The gradient of the target with respect to the value, under the rules of the method."""
        return self._oriented(self.slope)

    def see(self, operation: Operation, value: Tensor, path: str) -> Tensor:
        """Return the value of an operation; catch or replace it, or one of its factors, where the place is there."""
        if self.part is None or layer_number(path) != self.layer:
            return value
        if (self.part == HEADS and _reads_weights(operation)) or (self.part == MLP and _ends_mlp(operation)):
            if self.caught is not None:
                raise NotDefined(f"layer {self.layer} has more than one {self.at!r}, for example several experts.")
            return self._take(value)
        if self.part in (QUERIES, KEYS):
            if isinstance(operation, Product) and self.caught is None and _makes_scores(operation):
                return self._take_factor(operation, value)
            if isinstance(operation, Softmax) and self._product is not None:
                product, other = self._product
                self.softened = Softened(product, operation.input, value, other)
        return value

    @contextmanager
    def listening(self, model: nn.Module) -> Iterator[None]:
        """Start anew with each forward pass, and catch the output of the module, where the place is one."""
        place = self._module(model) if self.part is None else None  # raises where there is none, before any hook
        handles = [model.register_forward_pre_hook(lambda module, args: self.clear())]
        if place is not None:
            handles.append(place.register_forward_hook(self._take_output))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _take(self, value: Tensor) -> Tensor:
        self.caught = value
        if self.replace is None:
            return value
        with torch._C.DisableTorchFunction():  # no part of the model
            return facts.give(value, self.replace(value))

    def _take_factor(self, operation: Product, value: Tensor) -> Tensor:
        factors = list(operation.factors)
        place = 0 if self.part == QUERIES else 1
        self.caught, self._product = factors[place], (value, factors[1 - place])
        if self.replace is None:
            return value
        with torch._C.DisableTorchFunction():
            factors[place] = self._oriented(self.replace(self._oriented(factors[place])))
            return operation.multiply(*factors)

    def _take_output(self, module: nn.Module, args: Any, output: Any) -> Any:
        value = output if isinstance(output, Tensor) else output[0]
        if not isinstance(value, Tensor):
            return None
        taken = self._take(value)
        if self.replace is None:
            return None
        return taken if isinstance(output, Tensor) else (taken, *output[1:])

    def _oriented(self, value: Any) -> Any:
        return value.transpose(-2, -1) if self.part == KEYS and value is not None else value

    def _module(self, model: nn.Module) -> nn.Module:
        modules = dict(model.named_modules())
        if self.layer is not None:
            layers = layers_of(model)
            if self.layer not in layers:
                raise InputError(f"there is no layer {self.layer}; the model has {len(layers)}, numbered from 1.")
            return modules[layers[self.layer]]
        if self.at not in modules:
            raise InputError(f"the model has no module {self.at!r}.{did_you_mean(self.at, modules)}")
        return modules[self.at]


ACTIVE: ContextVar[tuple[Tap, ...]] = ContextVar("axioms_taps", default=())


@contextmanager
def tapping(*taps: Tap) -> Iterator[tuple[Tap, ...]]:
    """Open taps, which the engine fills until the end."""
    token = ACTIVE.set(taps)
    try:
        yield taps
    finally:
        ACTIVE.reset(token)


@contextmanager
def listening(model: nn.Module) -> Iterator[None]:
    """Let the open taps hear of the model's modules."""
    with ExitStack() as stack:
        for tap in ACTIVE.get():
            stack.enter_context(tap.listening(model))
        yield


def layers_of(model: nn.Module) -> dict[int, str]:
    """Return the paths of the model's layers by their numbers, from 1: modules whose path ends in its first number."""
    paths: dict[int, str] = {}
    for path, _ in model.named_modules():
        number = layer_number(path)
        if number is not None and path.rpartition(".")[2] == str(number - 1):
            paths.setdefault(number, path)
    return dict(sorted(paths.items()))


def _reads_weights(operation: Operation) -> bool:
    """Tell whether an operation is A V."""
    operands = operation.factors if isinstance(operation, Product) else ()
    if isinstance(operation, Linear):
        operands = (operation.input, operation.weight)
    return any(facts.of(x).is_weights for x in operands)


def _makes_scores(operation: Product) -> bool:
    """Tell whether a product is Q K': of two variables, neither of which is attention weights or scores."""
    known = [facts.of(factor) for factor in operation.factors]
    return operation.contracts and len(known) == 2 and not any(fact.is_weights or fact.is_scores for fact in known)


def _ends_mlp(operation: Operation) -> bool:
    """Tell whether an operation is the linear map after an activation, or after a product with one."""
    if not isinstance(operation, Linear):
        return False
    known = facts.of(operation.input)
    return known.is_activated or (known.origin is not None and not known.origin.contracted)
