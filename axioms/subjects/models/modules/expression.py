"""A model that computes expressions of the features, which are in alphabetical order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from axioms.core.errors import InputError
from axioms.subjects.models.expressions import (
    Activation,
    Attention,
    Binary,
    Entry,
    Expression,
    Linear,
    Number,
    Variable,
    variables,
)

EPS = 1e-2
"""The epsilon of the norms: removing a feature may leave them nothing but zeros."""


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


def evaluate(expression: Expression, values: dict[str, Tensor], see: Callable[[Expression, Tensor], None]) -> Tensor:
    """Return the value for each example; `see` is called with each activation and its input."""

    def value(of: Expression) -> Tensor:
        return evaluate(of, values, see)

    match expression:
        case Variable(name=name):
            return values[name]
        case Number(value=number):
            return next(iter(values.values())).new_tensor(number)
        case Binary(sign=sign, left=left, right=right):
            a, b = value(left), value(right)
            return a * b if sign == "*" else a + b if sign == "+" else a - b
        case Activation(name=name, value=inner):
            x = value(inner)
            see(expression, x)
            functions = {"relu": torch.relu, "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh}
            return functions[name](x)
        case Linear(weights=weights, values=inside):
            x = torch.stack(torch.broadcast_tensors(*map(value, inside)), -1)
            return F.linear(x, x.new_tensor([weights])).squeeze(-1)
        case Entry(name=name, values=inside, index=index):
            x = torch.stack(torch.broadcast_tensors(*map(value, inside)), -1)
            if name == "softmax":
                return torch.softmax(x, -1)[..., index]
            if name == "layer_norm":
                return F.layer_norm(x, x.shape[-1:], eps=EPS)[..., index]
            return F.rms_norm(x, x.shape[-1:], eps=EPS)[..., index]
        case Attention(query=query, keys=keys, values=inside):
            q, *tokens = torch.broadcast_tensors(*map(value, (query, *keys, *inside)))
            k = torch.stack(tokens[: len(keys)], -1).unsqueeze(-2)
            v = torch.stack(tokens[len(keys) :], -1).unsqueeze(-1)
            return (torch.softmax(q[..., None, None] @ k, -1) @ v)[..., 0, 0]
    raise AssertionError(f"unknown expression {expression!r}")
