"""The attention block as one operation, from its normed input to its output: found, and given a rule as a whole.

A block is the innermost module with a product of a product in it: Q K' that a softmax turns into weights for V, or (Q
K') V without one. What lies between may be scaled, masked or passed through a softmax, but not through a linear map.
So no model class is named, and a model that is nothing but such a product is one block itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from axioms.core.errors import NotDefined
from axioms.engine import facts
from axioms.engine.kinds import BLOCK
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Block, Operation, Product
from axioms.engine.parse import Call
from axioms.engine.where import Where, watching
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.parts import parts_of


def find_blocks(model: Model, inputs: Inputs) -> tuple[str, ...]:
    """Return the paths of the model's blocks, found by one forward pass."""
    with watching(model.module) as where:
        finder = _Finder(where)
        with Mode(finder):
            model(inputs)
    return tuple(dict.fromkeys(finder.blocks))


class _Finder(Interpreter):
    """Notes the module around every product of a product."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self.blocks: list[str] = []

    def operate(self, operation: Operation, call: Call) -> Any:
        """Return the operation's value, and note the module that it closes a block of."""
        if isinstance(operation, Product) and len({id(factor) for factor in operation.factors}) > 1:  # no square
            known = [facts.of(factor) for factor in operation.factors]
            origins = [fact.origin for fact in known if fact.origin is not None]
            if origins and not any(fact.normalizes for fact in known):
                self.blocks.append(common(origins[0].path, self.where.path))
        return call.run()


def common(first: str, second: str) -> str:
    """Return the path of the innermost module around both."""
    parts = []
    for one, other in zip(first.split("."), second.split("."), strict=False):
        if one != other:
            break
        parts.append(one)
    return ".".join(parts)


@contextmanager
def as_operations(
    model: nn.Module, paths: tuple[str, ...], where: Where, apply: Callable[[Operation], Tensor]
) -> Iterator[None]:
    """Make each module at these paths one operation, of kind `block`, whose value `apply` gives.

    A block is a function of its inputs that vary, all together; a block inside another is part of that one.
    """
    modules = dict(parts_of(model).named) if paths else {}

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        where.opaque += 1  # no call in there is an operation of its own

    def leave(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if where.opaque == 1 and facts.survey((*args, *kwargs.values()))[0]:
            output = _with_value(output, apply(_block(module, args, kwargs, output)))
        where.opaque -= 1
        return output

    handles = []
    for path in paths:
        handles.append(modules[path].register_forward_pre_hook(enter, with_kwargs=True))
        handles.append(modules[path].register_forward_hook(leave, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _block(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Block:
    options = {
        name: None if "past" in name or "cache" in name else value for name, value in kwargs.items()
    }  # a cache would grow each time
    places = [(args, i) for i, value in enumerate(args) if facts.survey((value,))[0]]
    named = [name for name, value in options.items() if facts.survey((value,))[0]]
    given = (*(args[i] for _, i in places), *(options[name] for name in named))
    if not all(isinstance(value, Tensor) for value in given):
        raise NotDefined(
            f"block_lrp cannot treat {type(module).__name__} as one operation: it takes lists of variables."
        )

    def function(*values: Tensor) -> Tensor:
        positional, remaining = list(args), list(values)
        for _, i in places:
            positional[i] = remaining.pop(0)
        return _value(module.forward(*positional, **{**options, **dict(zip(named, remaining, strict=True))}))

    return Block(BLOCK, type(module).__name__, lambda: _value(output), given, function)


def _value(output: Any) -> Tensor:
    """Return what a block puts out: its output, or the first of several."""
    value = output[0] if isinstance(output, list | tuple) else output
    if not isinstance(value, Tensor):
        raise NotDefined(f"block_lrp needs a block that returns a tensor, not {type(value).__name__}.")
    return value


def _with_value(output: Any, value: Tensor) -> Any:
    """Return the output with its first part replaced; the others (weights, position biases) carry no relevance."""
    if not isinstance(output, list | tuple):
        return value
    others = (part.detach() if isinstance(part, Tensor) else part for part in output[1:])
    return type(output)((value, *others))
