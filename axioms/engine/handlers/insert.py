"""Insertion: something that changes no number is done to the operands of every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from axioms.engine import kinds
from axioms.engine.calls import CALLS, is_in_place
from axioms.engine.mode import Handler

NoOp = Callable[[Tensor], Tensor]
ALIASES = frozenset((kinds.MOVE, kinds.SAME))
"""Calls that may return a view of their operand, or the operand itself, into which a model may write later on."""


class Insertion(Handler):
    """Puts no-ops around calls: a new tensor where one is computed, a view where a view must stay one."""

    def __init__(self, renew: NoOp, review: NoOp) -> None:
        self.renew, self.review = renew, review

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of the call with changed operands."""
        name = getattr(func, "__name__", "")
        kind = CALLS[name].kind if name in CALLS else kinds.OTHER
        writes = kind is kinds.WRITE or is_in_place(name) or "out" in kwargs or kwargs.get("inplace")
        writes = writes or (name.endswith("_") and not name.endswith("__"))  # by torch's convention
        if writes or kind is kinds.QUERY or name == "__get__":
            return func(*args, **kwargs)
        no_op = self.review if kind in ALIASES else self.renew
        return func(*_changed(args, no_op), **{key: _changed(value, no_op) for key, value in kwargs.items()})


def _changed(value: Any, no_op: NoOp) -> Any:
    """Return the arguments with every tensor of numbers changed, but not the parameters of the model."""
    if isinstance(value, Tensor):
        return value if isinstance(value, nn.Parameter) or not value.is_floating_point() else no_op(value)
    if type(value) in (list, tuple):
        return type(value)(_changed(part, no_op) for part in value)
    return value
