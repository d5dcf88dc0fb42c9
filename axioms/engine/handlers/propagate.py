"""Propagation: every operation of the forward pass gets the composite's rule for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import AxiomsError, InputError, MethodFailed, UncoveredOperation, said
from axioms.core.registry import RULES
from axioms.engine import facts, kinds
from axioms.engine.composite import Composite, RuleRef
from axioms.engine.handlers import ledger, tap
from axioms.engine.handlers.blocks import as_operations, find_blocks
from axioms.engine.handlers.patch import differentiate_at_taps
from axioms.engine.handlers.tap import listening
from axioms.engine.kinds import BLOCK, GATE
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Operation
from axioms.engine.parse import Call
from axioms.engine.where import Where, watching
from axioms.model.forms import CONSTANT, without_recomputation
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.tail import differentiate_short
from axioms.model.targets import Target

OURS = "axioms."
CUSTOM_FUNCTION = """it is a custom autograd function, whose calls cannot be seen: write it with torch functions, or \
make it a module of its own if it is an activation"""
CUSTOM_FUNCTIONS = {
    "CheckpointFunction": "gradient checkpointing hides what it calls: turn it off",
}
"""What to do about those that torch brings, by name."""


class Propagation(Interpreter):
    """Gives each operation its rule; what mixes variables and has none raises."""

    def __init__(self, composite: Composite, where: Where) -> None:
        super().__init__(where)
        self.composite = composite
        self.ledger = ledger.ACTIVE.get()
        self.taps = tap.ACTIVE.get()

    def operate(self, operation: Operation, call: Call) -> Tensor:
        """Return the operation's value under its rule."""
        return self.apply(operation)

    def apply(self, operation: Operation) -> Tensor:
        """Return the operation's value under its rule, and tell the ledger and the tap of it."""
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None and operation.kind == GATE:
            self._refuse(
                operation.name,
                "g(0) is not 0, so that no share of its value belongs to its input alone: give the composite an entry "
                "for it, such as {on: gate, rule: stop}",
            )
        value = operation.forward() if rule is None else self._under(rule, operation)
        for open_tap in self.taps:
            value = open_tap.see(operation, value, self.where.path)
        if self.ledger is not None:
            self.ledger.watch(operation, value, rule, self.where.path)
        return value

    def _under(self, rule: RuleRef, operation: Operation) -> Tensor:
        """Return the operation's value under a rule; a user's rule is held to its promise, which is the same value."""
        known = RULES.get(rule.name)
        if known.is_ours:
            value: Tensor = known.function(operation, **rule.options)
            return value
        place = f"rule {rule.name!r} on {operation.name!r} in module {self.where.path!r}"
        with torch.no_grad():
            plain = operation.forward()
        try:
            value = known.function(operation, **rule.options)
        except AxiomsError:
            raise
        except Exception as error:
            raise MethodFailed(f"{place} raised {said(error)}; mend it there.") from error
        if not isinstance(value, Tensor) or value.shape != plain.shape:
            given = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise MethodFailed(f"{place} returned {given}; return a tensor of shape {tuple(plain.shape)}.")
        if not torch.allclose(value, plain, rtol=1e-3, atol=1e-6, equal_nan=True):
            what = "changed the value of the operation" if value.isfinite().all() else "returned NaN or infinity"
            raise MethodFailed(
                f"{place} {what}; return that of operation.forward() with another backward "
                "pass, for example value.detach() + share * (value - value.detach())."
            )
        return value

    def compute(self, call: Call, kind: str) -> Any:
        """Return the value of a call that is no operation; constants beside variables are noted in the ledger."""
        value = call.run()
        if self.ledger is not None and kind in (kinds.JOIN, kinds.FILL):
            self.ledger.watch_constants(call.name, value, constants_of(call), self.where.path)
        return value

    def uncovered(self, call: Call) -> Any:
        """Raise for an operation that has no rule, or note it where the caller is not strict."""
        self._refuse(
            call.name,
            f"say in code of your own what it is, for example axioms.register_operation({call.name!r}, "
            'kind="activation"), or what it is made of, with written_as=',
        )
        return call.run()

    def refuse_custom_functions(self, outputs: Tensor) -> None:
        """Raise for custom autograd functions in the graph that are not ours: nobody sees the calls inside them."""
        for name in custom_functions(outputs):
            self._refuse(name, CUSTOM_FUNCTIONS.get(name, CUSTOM_FUNCTION))

    def _refuse(self, name: str, remedy: str) -> None:
        if self.ledger is not None and not self.ledger.strict:
            self.ledger.uncovered.append(f"{name} in {self.where.path or '(the model itself)'}")
            return
        raise UncoveredOperation(
            f"no rule covers {name!r} in module {self.where.path or '(the model itself)'!r}; {remedy}. strict=False "
            "lets relevance cross it by the plain gradient and notes it in the ledger."
        )


def propagate(model: Model, inputs: Inputs, target: Target, composite: Composite) -> Tensor:
    """Return the relevance of every feature: Gradient x Input on the graph that the composite's rules make."""
    is_watched = ledger.ACTIVE.get() is not None or bool(tap.ACTIVE.get())
    if is_watched or composite.has(BLOCK) or not all(_is_ours(entry.rule) for entry in composite.entries):
        return _propagate(model, inputs, target, composite)
    return differentiate_short(
        model,
        inputs,
        target,
        lambda model: _propagate(model, inputs, target, composite),
        lambda value, part: facts.note(part, facts.of(value)),
    )


def _is_ours(rule: RuleRef | None) -> bool:
    return rule is None or RULES.get(rule.name).is_ours


def _propagate(model: Model, inputs: Inputs, target: Target, composite: Composite) -> Tensor:
    features = inputs.features.detach().requires_grad_()
    outputs = forward(model, inputs.with_features(features), composite)
    target.settle(outputs)
    book = ledger.ACTIVE.get()
    if book is not None:
        book.output += float(target.start(outputs).sum())
    if not outputs.requires_grad:  # every path was stopped
        _refuse_constant(model, inputs.with_features(features))
        if book is not None:
            book.entries.append(ledger.constant_output(float(target.start(outputs).sum())))
        return torch.zeros_like(inputs.features)
    gradient = differentiate_at_taps(target(outputs).sum(), features)
    relevance = features.detach() * gradient
    if book is not None:
        book.features += float(relevance.sum())
    return relevance


def _refuse_constant(model: Model, inputs: Inputs) -> None:
    """Raise where it was not a rule that stopped every path but the model itself."""
    if not model(inputs).requires_grad:
        raise InputError(CONSTANT)


def forward(
    model: Model,
    inputs: Inputs,
    composite: Composite,
    *,
    make: Callable[[Composite, Where], Propagation] = Propagation,
) -> Tensor:
    """Return the outputs, with the composite's rules in their graph; `make` gives the handler that puts them there."""
    blocks = find_blocks(model, inputs) if composite.has(BLOCK) else ()
    with watching(model.module) as where, listening(model.module):
        handler = make(composite, where)
        with without_recomputation(), Mode(handler), as_operations(model.module, blocks, where, handler.apply):
            outputs = model(inputs)
    handler.refuse_custom_functions(outputs)
    return outputs


def custom_functions(outputs: Tensor) -> list[str]:
    """Return the names of the custom autograd functions in a graph that are not ours."""
    seen, open_nodes, names = set(), [outputs.grad_fn], []
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        function = getattr(node, "_forward_cls", None)
        if function is not None and not function.__module__.startswith(OURS):
            names.append(function.__name__)
        open_nodes += [following for following, _ in node.next_functions]
    return names


def constants_of(call: Call) -> Tensor:
    """Return what constants contribute to a call: its value where every variable is zero."""

    def without(value: Any) -> Any:
        if isinstance(value, Tensor):
            return torch.zeros_like(value) if facts.is_variable(value) else value
        return type(value)(without(part) for part in value) if isinstance(value, list | tuple) else value

    with torch.no_grad():
        return call.func(*without(call.args), **{name: without(value) for name, value in call.kwargs.items()})
