"""A model that computes expressions of the features, which are in alphabetical order."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.subjects.models.expressions import Activation, Expression, evaluate, variables


class ExpressionModel(nn.Module):
    """One number for each example and expression, computed call by call as the expressions are written.

    `inputs` names the features where the expressions do not use them all.
    """

    def __init__(self, expressions: Expression | Sequence[Expression], inputs: list[str] | None = None) -> None:
        super().__init__()
        self.expressions = [expressions] if isinstance(expressions, Expression) else list(expressions)
        if not self.expressions:
            raise InputError("a model of expressions needs at least one of them.")
        used = sorted({name for expression in self.expressions for name in variables(expression)})
        self.inputs = inputs or used
        unknown = set(used) - set(self.inputs)
        if unknown or not self.inputs:
            texts = ", ".join(map(repr, map(str, self.expressions)))
            raise InputError(f"the expression {texts} names {sorted(unknown)}, and `inputs` does not.")
        self.closest_kink = float("inf")
        """The smallest |input| of a ReLU in the last forward pass."""

    def forward(self, features: Tensor) -> Tensor:
        """Return the value for each example, or one for each expression: batch, or batch x expressions."""
        if features.shape[1] != len(self.inputs):
            names = ", ".join(self.inputs)
            raise InputError(f"the expression has the features {names}; the data has {features.shape[1]}.")
        self.closest_kink = float("inf")

        def see(node: Expression, x: Tensor) -> None:
            if isinstance(node, Activation) and node.name == "relu" and not x.is_meta:
                self.closest_kink = min(self.closest_kink, float(x.detach().abs().min()))

        named = dict(zip(self.inputs, features.unbind(1), strict=True))
        values = [evaluate(expression, named, see).expand(len(features)) for expression in self.expressions]
        return values[0] if len(values) == 1 else torch.stack(values, dim=1)
