"""How facts cross a call: one rule for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from axioms.engine import kinds
from axioms.engine.composite import layer_number
from axioms.engine.facts.access import give, has_facts, is_variable, known_of, note, of, tensors, variables
from axioms.engine.facts.mixing import move_codes, outputs_of, put, written_codes
from axioms.engine.facts.record import PLAIN, Facts, Mixture, Origin, combine
from axioms.engine.kinds import CLAMP
from axioms.engine.operations import Operation, Product


def cross(
    kind: str,
    func: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    value: Any,
    *,
    operation: Operation | None = None,
    path: str = "",
) -> None:
    """Give the value of a call the facts that follow from those of its operands."""
    if not any(isinstance(output, Tensor) for output in outputs_of(value)):
        return  # a shape, a dtype
    operands = [tensor for tensor in tensors((*args, *kwargs.values())) if tensor.is_floating_point()]
    moving = [tensor for tensor in operands if is_variable(tensor)] or [x for x in operands if has_facts(x)]
    known = [known_of(tensor) for tensor in moving]
    if kind in kinds.MOVING:
        if kind == kinds.SAME:
            give(next(tensors((*args, *kwargs.values()))), value)
        elif all(isinstance(facts, Facts) and facts == known[0] for facts in known):
            for output in outputs_of(value):
                note(output, known[0] if known else None)
        else:
            for output, facts in zip(outputs_of(value), move_codes(func, args, kwargs, moving), strict=True):
                note(output, facts)
        return
    if len(moving) == 1 and isinstance(known[0], Mixture) and kind in kinds.ENTRY_BY_ENTRY:
        codes = known[0].codes
        note(value, known[0] if codes.shape == value.shape else replace(known[0], codes=codes.expand(value.shape)))
        return
    facts = after(kind, [of(tensor) for tensor in operands], [of(tensor) for tensor in moving], operation, path)
    for output in outputs_of(value):
        note(output, _with_held(output, facts))


def _with_held(output: Any, facts: Facts) -> Facts | Mixture:
    """Keep what a rule said of held entries beside what follows from the operands."""
    said = known_of(output) if isinstance(output, Tensor) else None
    if not isinstance(said, Mixture):
        return facts
    return Mixture(said.codes, tuple(facts._replace(is_held=part.is_held) for part in said.table))


def after(
    kind: str, operands: Sequence[Facts], moving: Sequence[Facts], operation: Operation | None, path: str
) -> Facts:
    """Return the facts after a call that is no mere move: `moving` are those of its variables among the operands."""
    base = combine(moving) if moving else PLAIN
    fresh = Facts(varies=base.varies, softmaxes=base.softmaxes)
    if kind in (kinds.SCALE, kinds.PRODUCT) and any(fact.normalizes for fact in operands):
        return fresh if any(not fact.normalizes for fact in moving) else fresh._replace(normalizes=True)
    if kind == kinds.PRODUCT and isinstance(operation, Product):
        if operation.is_division:
            return base._replace(is_activated=False, degree=1)
        degree = sum(of(factor).degree for factor in operation.factors)
        scores = operation.contracts or base.is_scores
        return fresh._replace(is_scores=scores, degree=degree, origin=Origin(path, operation.contracts))
    if kind == kinds.SCALE and any(fact.is_activated for fact in operands):  # x sigmoid(x), the sigmoid held constant
        return base._replace(is_activated=True)
    origin = base.origin if base.origin is not None and base.origin.contracted else None
    match kind:
        case kinds.LINEAR:
            return fresh._replace(degree=base.degree)
        case kinds.SOFTMAX:
            layer = layer_number(path)
            softmaxes = base.softmaxes if layer is None else frozenset((layer,))
            return fresh._replace(is_weights=True, softmaxes=softmaxes, origin=origin)
        case kinds.NORMALIZER:
            return fresh._replace(normalizes=True)
        case kinds.NORM | kinds.BLOCK:
            return fresh
        case kinds.ACTIVATION if operation is None or operation.name != CLAMP:
            return fresh._replace(is_activated=True, is_scores=base.is_scores, origin=origin)
        case kinds.GATE:
            name = "" if operation is None else operation.name
            scores = base.is_scores and name != "exp"
            return fresh._replace(is_activated=name == "sigmoid", is_scores=scores, origin=origin)
        case kinds.LOG_SOFTMAX:
            return base._replace(is_scores=False)
    return base


def write(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Update the facts of a tensor that a call is about to write a part of."""
    place = args[0]
    sources = list(variables((*args[1:], *kwargs.values())))
    if sources:
        put(place, written_codes(func, args, kwargs, [place, *sources] if is_variable(place) else sources))
