"""The mode: sees every torch function of a forward pass and hands it to a handler.

`Mode` is the only one of the engine. What is done with a call is the handler's business: `Interpreter` looks it up in
the table, finds its operation, and keeps the facts; the handlers in handlers/ then apply rules, count or observe.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from axioms.engine import facts, kinds
from axioms.engine.calls import CALLS, Row, is_in_place, plain_name, twin
from axioms.engine.operations import Operation, Pointwise
from axioms.engine.parse import Call, Unreadable
from axioms.engine.where import Where

OTHER = Row(kinds.OTHER)
UNREMARKABLE = frozenset((kinds.MOVE, kinds.SAME))
INFORMATIVE = frozenset((kinds.ACTIVATION, kinds.GATE, kinds.SOFTMAX, kinds.PRODUCT, kinds.NORMALIZER))
"""Operations whose value has facts, whatever their operands have."""


class Mode(TorchFunctionMode):
    """Hands every call to its handler while it is active."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self.handler = handler
        handler.mode = self

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self.handler.see(func, args, kwargs or {})


class Handler:
    """Decides what a call returns."""

    mode: Mode

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of a call."""
        return func(*args, **kwargs)

    def leave(self) -> None:
        """Do what is to be done after a forward pass: by itself, nothing."""


class Interpreter(Handler):
    """Reads calls as operations and keeps the facts of their values; by itself it changes nothing."""

    def __init__(self, where: Where) -> None:
        self.where = where
        where.activation = self.activation

    def operate(self, operation: Operation, call: Call) -> Any:
        """Return the value of an operation, which is what the call computes."""
        return call.run()

    def compute(self, call: Call, kind: str) -> Any:
        """Return the value of a call with variables that is no operation."""
        return call.run()

    def uncovered(self, call: Call) -> Any:
        """Return the value of a call with variables that nothing in the table explains."""
        return call.run()

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of a call; what it writes in place is computed beside it, under its rule."""
        name = getattr(func, "__name__", "") or str(func)
        row = CALLS.get(name)
        if self.where.is_opaque or (row is not None and row.kind is kinds.QUERY):
            return func(*args, **kwargs)
        varies, known = facts.survey((*args, *kwargs.values()) if kwargs else args)
        if row is None and is_in_place(name):
            return self._see_in_place(name, func, args, kwargs) if varies else func(*args, **kwargs)
        if varies and kwargs.get("inplace"):
            return self._see_in_place(name, func, args, kwargs)
        row = row or OTHER
        if row.kind is kinds.WRITE:
            facts.write(func, args, kwargs)
            return func(*args, **kwargs)
        if not varies:
            value = func(*args, **kwargs)
            if known:
                facts.cross(row.kind, func, args, kwargs, value)
            return value
        if not known and row.read is None and row.kind in UNREMARKABLE:  # most calls: nothing to know or to do
            return func(*args, **kwargs)
        return self.evaluate(Call(name, func, args, kwargs), row)

    def evaluate(self, call: Call, row: Row) -> Any:
        """Return the value of a call with variables that writes to none of its arguments."""
        operation = None
        try:
            if row.read is not None:
                operation = row.read(call)
            elif row.written is not None or row.kind in (kinds.OTHER, kinds.LOG_SOFTMAX):
                raise Unreadable
        except Unreadable:
            if row.written is not None:
                with self.mode:  # each call inside is seen by itself
                    return row.written(*call.args, **call.kwargs)
            value = self.uncovered(call)
            self.learn(row.kind, call, value)
            return value
        kind = row.kind if operation is None else operation.kind
        value = self.compute(call, kind) if operation is None else self.operate(operation, call)
        self.learn(kind, call, value, operation)
        return value

    def learn(self, kind: str, call: Call, value: Any, operation: Operation | None = None) -> None:
        """Give the value the facts that follow from those of the operands and from what was done to them."""
        if kind in INFORMATIVE or facts.survey((*call.args, *call.kwargs.values()))[1]:
            facts.cross(kind, call.func, call.args, call.kwargs, value, operation=operation, path=self.where.path)

    def activation(self, module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        """Return the output of an activation module, which is one operation however many calls it makes."""
        operation = Pointwise(kinds.ACTIVATION, type(module).__name__, lambda: value, x, module.forward)
        call = Call(operation.name, lambda x: value, (x,), {})
        result = self.operate(operation, call)
        self.learn(kinds.ACTIVATION, call, result, operation)
        return result

    def _see_in_place(
        self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Tensor:
        options = {key: option for key, option in kwargs.items() if key != "inplace"}
        place = args[0] if args else options.pop("input")
        copy = facts.give(place, place.clone())  # the rule needs it as it was
        plain = plain_name(name) if name not in CALLS else name
        value = self.evaluate(Call(plain, twin(name, func), (copy, *args[1:]), options), CALLS[plain])
        facts.put(place, facts.known_of(value))
        place.copy_(value)
        return place if facts.is_variable(value) else place.detach()
