"""The explicit engine: slow, literal, independent. Its backward pass carries relevance, with epsilon as it is printed.

It exists to be compared with handlers/propagate.py, with which it shares the names of operations and no rule.
Calls that move numbers keep torch's backward pass, which moves relevance in the same way. All others are replaced.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import UncoveredOperation
from axioms.engine import facts, kinds
from axioms.engine.calls import Row
from axioms.engine.composite import Composite
from axioms.engine.explicit_rules import epsilon, explicit_rule, unchanged
from axioms.engine.kinds import GATE, LINEAR
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Operation, Pointwise, Softmax
from axioms.engine.parse import Call, Unreadable
from axioms.engine.step import Step
from axioms.engine.where import Where, watching
from axioms.model.forms import without_recomputation
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target

MOVED_AS_TORCH_DOES = kinds.MOVING | {kinds.FILL, kinds.SELECT}
"""Calls whose own backward pass moves relevance just as it moves gradients."""


class ExplicitPropagation(Interpreter):
    """Hands relevance back by the composite's rule for each operation, or raises."""

    def __init__(self, composite: Composite, where: Where, epsilon: float) -> None:
        super().__init__(where)
        self.composite, self.epsilon = composite, epsilon

    def evaluate(self, call: Call, row: Row) -> Any:
        """Return the value of a call that writes to none of its arguments."""
        if row.read is None and row.kind in MOVED_AS_TORCH_DOES:
            value = call.run()
            self.learn(row.kind, call, value)
            return value
        originals = list({id(x): x for x in facts.variables((*call.args, *call.kwargs.values()))}.values())
        copies = [facts.give(original, original.clone().requires_grad_()) for original in originals]
        swap = {id(original): copy for original, copy in zip(originals, copies, strict=True)}
        kwargs = {key: _swapped(value, swap) for key, value in call.kwargs.items()}
        copied = Call(call.name, call.func, _swapped(call.args, swap), kwargs)
        operation = None
        try:
            if row.read is not None:
                operation = row.read(copied)
            elif row.written is not None or row.kind in (kinds.OTHER, kinds.LOG_SOFTMAX):
                raise Unreadable
        except Unreadable:
            if row.written is None:
                raise self._uncovered(call.name) from None
            with self.mode:  # each call inside gets its own rule
                return row.written(*call.args, **call.kwargs)
        kind = row.kind if operation is None else operation.kind
        if operation is not None:
            dim = operation.dim if isinstance(operation, Softmax) else None
            value = self._apply(operation, Step(operation, copies, originals, self.epsilon, dim))
        elif kind in (kinds.SCALE, kinds.ACCUMULATE):  # torch's backward pass would scale relevance, or give it twice
            step = Step(Operation(LINEAR, call.name, copied.run), copies, originals, self.epsilon)
            value = unchanged(step, *copies) if kind == kinds.SCALE else epsilon(step)
        else:
            value = call.run()
        self.learn(kind, call, value, operation)
        return value

    def operate(self, operation: Operation, call: Call) -> Tensor:
        """Return the value of an activation module under its rule."""
        assert isinstance(operation, Pointwise)
        return self._apply(operation, Step(operation, [operation.input], [operation.input], self.epsilon))

    def _apply(self, operation: Operation, step: Step) -> Tensor:
        """Return the operation's value under its rule; where it has none, relevance follows the plain gradient."""
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None and operation.kind == GATE:
            raise self._uncovered(operation.name)
        return epsilon(step) if rule is None else explicit_rule(rule.name)(step, **rule.options)

    def _uncovered(self, name: str) -> UncoveredOperation:
        return UncoveredOperation(f"no explicit rule covers {name!r} in module {self.where.path!r}.")


def propagate_explicit(
    model: Model, inputs: Inputs, target: Target, composite: Composite, *, epsilon: float = 1e-12
) -> Tensor:
    """Return the relevance of every feature, handed back from the target's output.

    `epsilon` stabilizes the divisions of rules that have none of their own, or one of 0.
    """
    features = inputs.features.detach().requires_grad_()
    with watching(model.module) as where, without_recomputation(), Mode(ExplicitPropagation(composite, where, epsilon)):
        outputs = model(inputs.with_features(features.clone()))
    target.settle(outputs)
    if not outputs.requires_grad:  # every path was stopped
        return torch.zeros_like(inputs.features)
    (relevance,) = torch.autograd.grad(outputs, features, target.start(outputs))
    return relevance


def _swapped(value: Any, swap: dict[int, Tensor]) -> Any:
    """Return the value with the tensors that `swap` names replaced, also inside lists."""
    if isinstance(value, list | tuple):
        swapped = [_swapped(part, swap) for part in value]
        return tuple(swapped) if isinstance(value, tuple) else swapped
    return swap.get(id(value), value)
