"""The explicit engine: slow, literal, independent. Its backward pass carries relevance, with epsilon as it is printed.

It exists to be compared with axioms/engine/engine.py, with which it shares the names of operations and no rule.
Calls that move numbers keep torch's backward pass, which moves relevance in the same way. All others are replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from axioms.core.errors import UncoveredOperation, UnknownName, did_you_mean
from axioms.engine.composite import Composite
from axioms.engine.decomposed import DECOMPOSED
from axioms.engine.explicit_rules import EXPLICIT_RULES, MARKS, epsilon, unchanged
from axioms.engine.functions import PASSIVE
from axioms.engine.modules import Where, watching
from axioms.engine.operations import ACTIVATION, GATE, LINEAR, SOFTMAX, Operation, Pointwise, variables
from axioms.engine.parse import parse
from axioms.engine.parser import argument
from axioms.engine.step import Step
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target

SCALINGS = frozenset("neg negative __neg__ mul __mul__ __rmul__ multiply div __truediv__ true_divide divide".split())
"""A variable times a constant, where `parse` finds no operation: torch's backward pass would scale relevance too."""
ACCUMULATIONS = frozenset("index_add scatter_add index_put einsum".split())
"""Passive to the fast engine, but sums: torch's backward pass would give each term all of the relevance."""
IN_PLACE = frozenset(
    """add_ sub_ mul_ div_ __iadd__ __isub__ __imul__ __itruediv__ relu_ silu_ tanh_ leaky_relu_ elu_ sigmoid_ exp_
    rsqrt_ sqrt_ baddbmm_ index_add_ scatter_add_ index_put_""".split()
)


class ExplicitPropagation(TorchFunctionMode):
    """While active, each call hands relevance back by the composite's rule for its operation, or raises."""

    def __init__(self, composite: Composite, where: Where, epsilon: float) -> None:
        super().__init__()
        self.composite, self.where, self.epsilon = composite, where, epsilon

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        if self.where.inside_activation or not _variables(args, kwargs):
            return func(*args, **kwargs)
        if name in IN_PLACE:
            plain = name.replace("__i", "__") if name.startswith("__i") else name.removesuffix("_")
            return _written(args[0], self.call(plain, _function(plain), args, kwargs))
        if kwargs.pop("inplace", False):
            return _written(args[0], self.call(name, func, args, kwargs))
        return self.call(name, func, args, kwargs)

    def call(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a call that writes to none of its arguments."""
        if name in PASSIVE and name not in SCALINGS | ACCUMULATIONS:
            return func(*args, **kwargs)
        if "other" in kwargs:
            args = (*args, kwargs.pop("other"))
        originals = _variables(args, kwargs)
        copies = [_copy(each) for each in originals]
        swap = {id(original): copy for original, copy in zip(originals, copies, strict=True)}
        own_args, own_kwargs = _swapped(args, swap), {key: _swapped(value, swap) for key, value in kwargs.items()}
        try:
            operation = None if name in PASSIVE else parse(name, func, own_args, own_kwargs)
        except KeyError:
            if name not in DECOMPOSED:
                raise self._uncovered(name) from None
            with self:  # each call inside gets its own rule
                return DECOMPOSED[name](*args, **kwargs)
        if operation is not None:
            dim = argument(args, kwargs, 1, "dim") if operation.kind == SOFTMAX else None
            return self.apply(operation, Step(operation, copies, originals, self.epsilon, dim))
        if name not in SCALINGS | ACCUMULATIONS:
            return func(*args, **kwargs)
        linear = Operation(LINEAR, name, lambda: func(*own_args, **own_kwargs))
        step = Step(linear, copies, originals, self.epsilon)
        return unchanged(step, *copies) if name in SCALINGS else epsilon(step)

    def apply(self, operation: Operation, step: Step) -> Tensor:
        """The operation's value under its rule; where it has none, relevance follows the plain gradient."""
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None and operation.kind == GATE:
            raise self._uncovered(operation.name)
        if rule is None:
            return epsilon(step)
        if rule.name not in EXPLICIT_RULES:
            raise UnknownName(f"rule {rule.name!r} has no explicit version.{did_you_mean(rule.name, EXPLICIT_RULES)}")
        return EXPLICIT_RULES[rule.name](step, **rule.options)

    def activation(self, module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        """The output of an activation module, which is one operation."""
        operation = Pointwise(ACTIVATION, type(module).__name__, lambda: value, x, module.forward)
        return self.apply(operation, Step(operation, [x], [x], self.epsilon))

    def _uncovered(self, name: str) -> UncoveredOperation:
        return UncoveredOperation(f"no explicit rule covers {name!r} in module {self.where.path!r}.")


def propagate_explicit(
    model: Model, inputs: Inputs, target: Target, composite: Composite, *, epsilon: float = 1e-12
) -> Tensor:
    """Relevance of every feature, handed back from the outputs; of a target that is one of them, that is its value.

    `epsilon` stabilizes the divisions of rules that have none of their own, or one of 0.
    """
    features = inputs.features.detach().requires_grad_()
    modes: list[ExplicitPropagation] = []

    def replace(module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        return modes[0].activation(module, x, value)

    with watching(model.module, replace) as where, ExplicitPropagation(composite, where, epsilon) as mode:
        modes.append(mode)
        outputs = model(inputs.with_features(features.clone()))
    if not outputs.requires_grad:  # every path was stopped
        return torch.zeros_like(inputs.features)
    (relevance,) = torch.autograd.grad(outputs, features, target.start(outputs))
    return relevance


def _variables(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The variables among the arguments, each once: x + x has one."""
    return list({id(each): each for each in variables((*args, *kwargs.values()))}.values())


def _copy(original: Tensor) -> Tensor:
    """A leaf with the same values and marks."""
    copy = original.detach().clone().requires_grad_()
    for mark in MARKS:
        if hasattr(original, mark):
            setattr(copy, mark, getattr(original, mark))
    return copy


def _swapped(value: Any, swap: dict[int, Tensor]) -> Any:
    """The value with the tensors that `swap` names replaced, also inside lists."""
    if isinstance(value, list | tuple):
        swapped = [_swapped(each, swap) for each in value]
        return tuple(swapped) if isinstance(value, tuple) else swapped
    return swap.get(id(value), value)


def _function(name: str) -> Callable[..., Any]:
    """A torch function by its name."""
    return getattr(Tensor, name, None) or getattr(F, name)


def _written(target: Tensor, value: Tensor) -> Tensor:
    """Write the value of a call in its place, with its marks; what was there before has no relevance left."""
    target.copy_(value)
    for mark in MARKS:
        if hasattr(value, mark):
            setattr(target, mark, getattr(value, mark))
        elif hasattr(target, mark):
            delattr(target, mark)
    return target if value.requires_grad else target.detach()
