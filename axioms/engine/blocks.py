"""The attention block as one operation, from its normed input to its output: found, and given a rule as a whole.

A block is the innermost module with a product of a product in it: Q K' that a softmax turns into weights for V, or (Q
K') V without one. What lies between may be scaled, masked or passed through a softmax, but not through a linear map.
So no model class is named, and a model that is nothing but such a product is one block itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from axioms.core.errors import NotDefined
from axioms.engine.decomposed import attention
from axioms.engine.functions import ACTIVATIONS, GATES, NORMALIZERS
from axioms.engine.gradients import with_gradient_of
from axioms.engine.modules import Where, watching
from axioms.engine.operations import BLOCK, Block, Operation, has_variable, variables
from axioms.engine.rules import rule
from axioms.engine.scores import CONTRACTIONS, MAKES_OTHER
from axioms.model.inputs import Inputs
from axioms.model.module import Model

MULTIPLIED = "_axioms_multiplied"
"""Mark of a product of variables and of what is made of it."""
NORMALIZES = "_axioms_normalizes"
"""Mark of a deviation or its inverse: a product with it is a norm."""
FACTORWISE = frozenset("mul __mul__ __rmul__ multiply".split())
NONLINEAR = frozenset((*ACTIVATIONS, *GATES, "pow", "__pow__", "square", "softmax", "_safe_softmax"))

_FOUND: WeakKeyDictionary[nn.Module, tuple[str, ...]] = WeakKeyDictionary()


class _Multiplied(NamedTuple):
    path: str
    """Of the module that multiplied."""
    contracted: bool
    """Scores, which stay so through a softmax and other functions; other products do only while they are linear."""


def find_blocks(model: Model, inputs: Inputs) -> tuple[str, ...]:
    """The paths of the model's blocks, by one forward pass; known from then on, since they are a matter of its code."""
    if model.module not in _FOUND:
        with watching(model.module, lambda module, x, value: value) as where, _Finding(where) as finding:
            model(inputs)
        _FOUND[model.module] = tuple(dict.fromkeys(finding.blocks))
    return _FOUND[model.module]


class _Finding(TorchFunctionMode):
    """While active, notes the module around every product of a product."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where
        self.blocks: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "scaled_dot_product_attention":
            with self:  # its products are calls of their own
                return attention(*args, **kwargs)
        value = func(*args, **kwargs)
        if isinstance(value, Tensor) and value.requires_grad and not self.where.inside_activation:
            self._note(name, value, list(variables((*args, *kwargs.values()))))
        return value

    def _note(self, name: str, value: Tensor, operands: list[Tensor]) -> None:
        before = [getattr(each, MULTIPLIED) for each in operands if hasattr(each, MULTIPLIED)]
        if name in NORMALIZERS or any(hasattr(each, NORMALIZES) for each in operands):
            if name not in FACTORWISE:
                setattr(value, NORMALIZES, True)
        elif name in CONTRACTIONS | FACTORWISE and len(operands) > 1:
            self.blocks += [common(each.path, self.where.path) for each in before[:1]]
            setattr(value, MULTIPLIED, _Multiplied(self.where.path, name in CONTRACTIONS))
        elif before and name not in CONTRACTIONS | MAKES_OTHER and (before[0].contracted or name not in NONLINEAR):
            setattr(value, MULTIPLIED, before[0])


def common(one: str, other: str) -> str:
    """The path of the innermost module around both."""
    parts = []
    for mine, yours in zip(one.split("."), other.split("."), strict=False):
        if mine != yours:
            break
        parts.append(mine)
    return ".".join(parts)


@contextmanager
def as_operations(
    model: nn.Module, paths: tuple[str, ...], where: Where, apply: Callable[[Operation], Tensor]
) -> Iterator[None]:
    """The modules at these paths are one operation each, of kind `block`, and `apply` gives its value.

    A block is a function of its inputs that vary, all together; a block inside another is part of that one.
    """
    modules = dict(model.named_modules())

    def enter(module: nn.Module, args: Any, kwargs: Any) -> None:
        where.inside_activation += 1  # no call in there is an operation of its own

    def leave(module: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if where.inside_activation == 1 and has_variable(args, kwargs):
            output = _with_value(output, apply(_block(module, args, kwargs, output)))
        where.inside_activation -= 1
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
    kept = {
        name: None if "past" in name or "cache" in name else value for name, value in kwargs.items()
    }  # a cache would grow each time
    places = [(args, i) for i, each in enumerate(args) if has_variable((each,), {})]
    named = [name for name, each in kept.items() if has_variable((each,), {})]
    given = tuple(each for each in (*(args[i] for _, i in places), *(kept[name] for name in named)))
    if not all(isinstance(each, Tensor) for each in given):
        raise NotDefined(
            f"block_lrp cannot treat {type(module).__name__} as one operation: it takes lists of variables."
        )

    def function(*values: Tensor) -> Tensor:
        positional, remaining = list(args), list(values)
        for _, i in places:
            positional[i] = remaining.pop(0)
        return _value(module.forward(*positional, **{**kept, **dict(zip(named, remaining, strict=True))}))

    return Block(BLOCK, type(module).__name__, lambda: _value(output), given, function)


def _value(output: Any) -> Tensor:
    """What a block puts out: its output, or the first of several."""
    value = output[0] if isinstance(output, list | tuple) else output
    if not isinstance(value, Tensor):
        raise NotDefined(f"block_lrp needs a block that returns a tensor, not {type(value).__name__}.")
    return value


def _with_value(output: Any, value: Tensor) -> Any:
    """The output with its first part replaced; the others (weights, position biases) carry no relevance."""
    if not isinstance(output, list | tuple):
        return value
    others = (each.detach() if isinstance(each, Tensor) else each for each in output[1:])
    return type(output)((value, *others))


@rule
def aumann_shapley(operation: Operation, *, nodes: int) -> Tensor:
    """R = x times the mean gradient on the straight path from 0 to x, by Gauss-Legendre nodes over the block alone.

    The stand-in sum_t (w_t / t) B(t x) has the gradient sum_t w_t J(t x)', which is that mean.
    """
    assert isinstance(operation, Block)
    places, weights = np.polynomial.legendre.leggauss(nodes)
    stand_in: Tensor | None = None
    for place, weight in zip(((places + 1) / 2).tolist(), (weights / 2).tolist(), strict=True):
        part = operation.function(*(place * each for each in operation.inputs)) * (weight / place)
        stand_in = part if stand_in is None else stand_in + part
    assert stand_in is not None
    return with_gradient_of(operation.forward().detach(), stand_in)
