"""Rules that can be switched between backward passes: one forward pass, and the softmax bypassed in layers of choice.

In each layer the softmax A = softmax(Z) has two rules, AttnLRP's and CP-LRP's, and both give the same value. Which of
them a backward pass follows is asked when it comes by. Where the softmax is bypassed, A is a constant, so that a
product with it has one variable factor less: O = A V sends all relevance to V, and not half of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.engine import facts
from axioms.engine.composite import Composite, layer_number
from axioms.engine.gradients import stabilized
from axioms.engine.handlers.propagate import Propagation
from axioms.engine.kinds import LINEAR, SOFTMAX
from axioms.engine.operations import Operation, Product
from axioms.engine.where import Where

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
        ctx: Any, value: Tensor, switch: Switch, factors: tuple[Layers, ...], share: Mapping[int, Tensor | float]
    ) -> Tensor:
        ctx.switch, ctx.factors, ctx.share = switch, factors, share
        ctx.layers = frozenset().union(*factors)
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        live = sum(not layers or not layers <= ctx.switch.bypassed for layers in ctx.factors)
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

    def apply(self, operation: Operation) -> Tensor:
        """Return the operation's value under its rule, or under the two rules that are switched between."""
        if operation.kind == SOFTMAX:
            return self._softmax(operation)
        if isinstance(operation, Product):
            layers = tuple(facts.of(factor).softmaxes for factor in operation.factors)
            if any(layers):
                return self._product(operation, layers)
        return super().apply(operation)

    def _softmax(self, operation: Operation) -> Tensor:
        value = super().apply(operation)
        layer = layer_number(self.where.path)
        if layer is None:
            return value
        self.switch.seen.add(layer)
        switched: Tensor = _Softmax.apply(value, self.switch, frozenset((layer,)))
        return switched

    def _product(self, operation: Product, layers: tuple[Layers, ...]) -> Tensor:
        rule = self.composite.rule(operation.kind, operation.name, self.where.path, self.where.owned)
        if rule is None or rule.name != "uniform":
            raise InputError(
                f"the softmax of {self.where.path!r} cannot be bypassed: its output enters a product with the rule "
                f"{'none' if rule is None else rule.name!r}, and only products that are split evenly are known here."
            )
        value, epsilon = operation.forward(), rule.options.get("epsilon", 0.0)
        share = {count: stabilized(value, float(count), epsilon) for count in range(1, len(layers) + 1)}
        alone = self.composite.rule(LINEAR, operation.name, self.where.path, self.where.owned)
        if alone is None or not operation.contracts:  # times a constant number by number, no rule applies
            share[1] = 1.0
        else:
            share[1] = stabilized(value, 1.0, alone.options.get("epsilon", 0.0))
        switched: Tensor = _Product.apply(value, self.switch, layers, share)
        return switched
