"""A model that computes an expression of the features, which are in alphabetical order."""

from __future__ import annotations

from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.subjects.models.expressions import Activation, Expression, evaluate, variables


class ExpressionModel(nn.Module):
    """One number for each example, computed call by call as the expression is written.

    `inputs` names the features where the expression does not use them all.
    """

    def __init__(self, expression: Expression, inputs: list[str] | None = None) -> None:
        super().__init__()
        self.expression = expression
        self.inputs = inputs or variables(expression)
        unknown = set(variables(expression)) - set(self.inputs)
        if unknown or not self.inputs:
            raise InputError(f"the expression {str(expression)!r} names {sorted(unknown)}, and `inputs` does not.")
        self.closest_kink = float("inf")
        """The smallest |input| of a ReLU in the last forward pass."""

    def forward(self, features: Tensor) -> Tensor:
        """Return the value for each example."""
        if features.shape[1] != len(self.inputs):
            names = ", ".join(self.inputs)
            raise InputError(f"the expression has the features {names}; the data has {features.shape[1]}.")
        self.closest_kink = float("inf")

        def see(node: Expression, x: Tensor) -> None:
            if isinstance(node, Activation) and node.name == "relu":
                self.closest_kink = min(self.closest_kink, float(x.detach().abs().min()))

        value = evaluate(self.expression, dict(zip(self.inputs, features.unbind(1), strict=True)), see)
        return value.expand(len(features))
