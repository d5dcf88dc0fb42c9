"""Rules that can be switched between backward passes: one forward pass, and the softmax bypassed in layers of choice.

In each layer the softmax A = softmax(Z) has two rules, AttnLRP's and CP-LRP's, and both give the same value. Which of
them a backward pass follows is asked when it comes by. Where the softmax is bypassed, A is a constant, so that a
product with it has one variable factor less: O = A V sends all relevance to V, and not half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.engine.composite import Composite, layer_number
from axioms.engine.engine import Propagation
from axioms.engine.gradients import stabilized
from axioms.engine.modules import Where
from axioms.engine.operations import LINEAR, SOFTMAX, Operation, Product, variables

THROUGH = "_axioms_through_softmax"
"""Mark of a tensor that depends on the input only through the softmax of these layers, a frozenset of numbers."""
CONTRACTIONS = frozenset("matmul __matmul__ __rmatmul__ mm bmm einsum".split())
"""Products that are linear maps once one factor is constant; times a constant number by number, no rule applies."""

Layers = frozenset[int]


class Switch:
    """The layers whose softmax the next backward pass bypasses, and those in which a softmax was seen."""

    def __init__(self) -> None:
        self.bypassed: Layers = frozenset()
        self.seen: set[int] = set()


class _Softmax(torch.autograd.Function):
    """The attention weights; their gradient goes on only where their layer is not bypassed."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, switch: Switch, layers: Layers) -> Tensor:
        ctx.switch, ctx.layers = switch, layers
        ctx.set_materialize_grads(False)
        return value.clone()  # torch's softmax needs its own value on the way back, and models may change this one

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None if ctx.layers <= ctx.switch.bypassed else gradients[0], None, None


class _Product(torch.autograd.Function):
    """A product; its gradient times the share of one factor among those that are variable."""

    @staticmethod
    def forward(
        ctx: Any, value: Tensor, switch: Switch, marks: tuple[Layers | None, ...], share: Mapping[int, Tensor | float]
    ) -> Tensor:
        ctx.switch, ctx.marks, ctx.share = switch, marks, share
        ctx.layers = frozenset().union(*(mark for mark in marks if mark is not None))
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        live = sum(mark is None or not mark <= ctx.switch.bypassed for mark in ctx.marks)
        if gradients[0] is None or live == 0:
            return None, None, None, None
        share = ctx.share[live]
        whole = isinstance(share, float) and share == 1
        return gradients[0] if whole else gradients[0] * share, None, None, None


class SwitchedPropagation(Propagation):
    """The engine with a switch at the softmax of every layer, and at every product that its output reaches."""

    def __init__(self, composite: Composite, where: Where, *, switch: Switch) -> None:
        super().__init__(composite, where)
        self.switch = switch

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = list(variables((*args, *(kwargs or {}).values())))
        mark = through(given)
        value = super().__torch_function__(func, types, args, kwargs)
        written = args[0] if value is None and args else value  # x[i] = y returns nothing
        if mark:
            for each in variables(written if isinstance(written, list | tuple) else [written]):
                setattr(each, THROUGH, mark)
        elif given and args and written is args[0] and hasattr(written, THROUGH):
            delattr(written, THROUGH)  # something else was written into it
        return value

    def apply(self, operation: Operation) -> Tensor:
        """The operation's value under its rule, or under the two rules that are switched between."""
        if operation.kind == SOFTMAX:
            return self._softmax(operation)
        if isinstance(operation, Product):
            marks = tuple(getattr(factor, THROUGH, None) for factor in operation.factors)
            if any(marks):
                return self._product(operation, marks)
        return super().apply(operation)

    def activation(self, module: nn.Module, x: Tensor, value: Tensor) -> Tensor:
        """The output of an activation module, which depends on the input as its own input does."""
        result = super().activation(module, x, value)
        if hasattr(x, THROUGH):
            setattr(result, THROUGH, getattr(x, THROUGH))
        return result

    def _softmax(self, operation: Operation) -> Tensor:
        value = super().apply(operation)
        layer = layer_number(self.where.path)
        if layer is None:
            return value
        self.switch.seen.add(layer)
        layers = frozenset((layer,))
        switched: Tensor = _Softmax.apply(value, self.switch, layers)
        setattr(switched, THROUGH, layers)
        return switched

    def _product(self, operation: Product, marks: tuple[Layers | None, ...]) -> Tensor:
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None or rule.name != "uniform":
            raise InputError(
                f"the softmax of {self.where.path!r} cannot be bypassed: its output enters a product with the rule "
                f"{'none' if rule is None else rule.name!r}, and only products that are split evenly are known here."
            )
        value, epsilon = operation.forward(), rule.options.get("epsilon", 0.0)
        share = {count: stabilized(value, float(count), epsilon) for count in range(1, len(marks) + 1)}
        alone = self.composite.rule(LINEAR, operation.name, self.where.path, self.where.owned)
        if operation.name not in CONTRACTIONS or alone is None:
            share[1] = 1.0
        else:
            share[1] = stabilized(value, 1.0, alone.options.get("epsilon", 0.0))
        switched: Tensor = _Product.apply(value, self.switch, marks, share)
        return switched


def through(given: list[Tensor]) -> Layers:
    """The layers whose softmax all of these go through; empty where one of them goes another way."""
    marks: list[Layers] = [getattr(each, THROUGH, frozenset()) for each in given]
    return frozenset().union(*marks) if all(marks) else frozenset()
