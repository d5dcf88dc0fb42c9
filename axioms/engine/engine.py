"""The engine: sees every torch function of the forward pass and applies the composite's rule to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import axioms.engine.selective_scan  # noqa: F401  (registers its rule)
from axioms.core.errors import UncoveredOperation
from axioms.engine import ledger, tap
from axioms.engine.blocks import as_operations, find_blocks
from axioms.engine.composite import Composite
from axioms.engine.decomposed import DECOMPOSED
from axioms.engine.functions import IN_PLACE, JOINS, PASSIVE
from axioms.engine.modules import Where, watching
from axioms.engine.operations import (
    ACTIVATION,
    BLOCK,
    CONSTANT_HEADS,
    GATE,
    SOFTMAX,
    Operation,
    Pointwise,
    has_variable,
)
from axioms.engine.parse import parse
from axioms.engine.rules import DEGREE, GATED, RULES
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target

_SEEN: WeakSet[nn.Module] = WeakSet()
"""Models in which no custom autograd function was found."""


class Propagation(TorchFunctionMode):
    """While active, each call gets the rule of its operation; what mixes variables and has none raises."""

    def __init__(self, composite: Composite, where: Where) -> None:
        super().__init__()
        self.composite = composite
        self.where = where
        self.ledger = ledger.ACTIVE.get()
        self.tap = tap.ACTIVE.get()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        if name in PASSIVE or self.where.inside_activation or not has_variable(args, kwargs):
            return func(*args, **kwargs)
        if name in IN_PLACE or kwargs.get("inplace"):
            options = {key: option for key, option in kwargs.items() if key != "inplace"}
            with self:
                copy = marked_as(args[0], args[0].clone())  # the rule needs it as it was
                value = beside(name, func)(copy, *args[1:], **options)
            return written(args[0], value)
        try:
            operation = parse(name, func, args, kwargs)
        except KeyError:
            if name not in DECOMPOSED:
                self.uncovered(name)
                return func(*args, **kwargs)
            with self:  # each call inside gets its own rule
                return DECOMPOSED[name](*args, **kwargs)
        if operation is not None:
            return self.apply(operation)
        value = func(*args, **kwargs)
        if self.ledger is not None and name in JOINS:
            self.ledger.watch_constants(name, value, constants_of(func, args, kwargs), self.where.path)
        return value

    def apply(self, operation: Operation) -> Tensor:
        """The operation's value under its rule."""
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None and operation.kind == GATE:
            self.uncovered(operation.name)
        value = operation.forward() if rule is None else RULES[rule.name](operation, **rule.options)
        if self.tap is not None:
            self.tap.see(operation, value, self.where.path)
            if operation.kind == SOFTMAX:
                setattr(value, tap.WEIGHTS, True)
        if self.ledger is not None:
            self.ledger.watch(operation, value, rule, self.where.path)
        return value

    def activation(self, module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        """The output of an activation module, which is one operation."""
        return self.apply(Pointwise(ACTIVATION, type(module).__name__, lambda: value, x, module.forward))

    def uncovered(self, name: str) -> None:
        """Raise for an operation that has no rule, or note it where the call is not strict."""
        if self.ledger is not None and not self.ledger.strict:
            self.ledger.uncovered.append(f"{name} in {self.where.path or '(the model itself)'}")
            return
        raise UncoveredOperation(
            f"no rule covers {name!r} in module {self.where.path or '(the model itself)'!r}. Name the function in "
            "axioms/engine/functions.py with its kind of operation, or give the composite an entry for it; "
            "strict=False lets relevance cross it by the plain gradient and notes it in the ledger."
        )


def propagate(
    model: Model,
    inputs: Inputs,
    target: Target,
    composite: Composite,
    *,
    make: Callable[..., Propagation] = Propagation,
) -> Tensor:
    """Relevance of every feature: Gradient x Input on the graph that the composite's rules make."""
    features = inputs.features.detach().requires_grad_()
    outputs = forward(model, inputs.with_features(features), composite, make=make)
    kept = ledger.ACTIVE.get()
    if kept is not None:
        kept.output += float(target.start(outputs).sum())
    if not outputs.requires_grad:  # every path was stopped
        if kept is not None:
            kept.entries.append(ledger.constant_output(float(target.start(outputs).sum())))
        return torch.zeros_like(inputs.features)
    output = target(outputs).sum()
    tapped = tap.ACTIVE.get()
    caught = None if tapped is None else tapped.value
    places = [features] if caught is None or not caught.requires_grad else [features, caught]
    gradients = torch.autograd.grad(output, places)
    relevance = features.detach() * gradients[0]
    if tapped is not None and len(places) > 1:
        tapped.relevance = places[1].detach() * gradients[1]
    if kept is not None:
        kept.features += float(relevance.sum())
    return relevance


def foreign_functions(outputs: Tensor) -> list[str]:
    """Custom autograd functions in the graph that are not ours: torch functions inside them are seen by nobody."""
    seen, open_nodes, found = set(), [outputs.grad_fn], []
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        function = getattr(node, "_forward_cls", None)
        if function is not None and not function.__module__.startswith("axioms."):
            found.append(function.__name__)
        open_nodes += [following for following, _ in node.next_functions]
    return found


def beside(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function that computes what an in-place function writes."""
    if not name.endswith("_"):
        return func  # by its `inplace` option
    plain = name.replace("__i", "__") if name.startswith("__i") else name.removesuffix("_")
    return getattr(Tensor, plain, None) or getattr(torch.nn.functional, plain)


def marked_as(marked: Tensor, tensor: Tensor) -> Tensor:
    """The tensor with the marks of another, and no others."""
    for mark in (GATED, CONSTANT_HEADS, DEGREE):
        if hasattr(marked, mark):
            setattr(tensor, mark, getattr(marked, mark))
        elif hasattr(tensor, mark):
            delattr(tensor, mark)
    return tensor


def written(place: Tensor, value: Tensor) -> Tensor:
    """The value in its place, with its marks."""
    place.copy_(value)
    return marked_as(value, place) if value.requires_grad else place.detach()


def constants_of(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """What constants contribute to a call that puts them beside variables: its value where every variable is zero."""

    def without(value: Any) -> Any:
        if isinstance(value, Tensor):
            return torch.zeros_like(value) if value.requires_grad else value
        return type(value)(without(each) for each in value) if isinstance(value, list | tuple) else value

    with torch.no_grad():
        return func(*without(args), **{name: without(value) for name, value in kwargs.items()})


def forward(
    model: Model, inputs: Inputs, composite: Composite, *, make: Callable[..., Propagation] = Propagation
) -> Tensor:
    """The outputs, with the composite's rules in their graph; `make` gives the mode that puts them there."""
    modes: list[Propagation] = []

    def replace(module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        return modes[0].activation(module, x, value)

    tapped = tap.ACTIVE.get()
    listening = nullcontext() if tapped is None else tapped.listening(model.module)
    whole = find_blocks(model, inputs) if composite.has(BLOCK) else ()
    with watching(model.module, replace) as where, listening, make(composite, where) as mode:
        modes.append(mode)
        with as_operations(model.module, whole, where, mode.apply):
            outputs = model(inputs)
    if model.module not in _SEEN:  # once per model: what functions it calls is a matter of its code
        foreign = foreign_functions(outputs)
        for name in foreign:
            mode.uncovered(name)
        if not foreign:
            _SEEN.add(model.module)
    return outputs
