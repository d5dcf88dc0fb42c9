"""A model out of an expression: one number for each example, of the features in alphabetical order."""

from __future__ import annotations

from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.subjects.models.expressions import Activation, Expression, evaluate, variables


class ExpressionModel(nn.Module):
    """Computes the expression, call by call as it is written. `inputs` names the features where it uses fewer."""

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
        """The value for each example."""
        if features.shape[1] != len(self.inputs):
            names = ", ".join(self.inputs)
            raise InputError(f"the expression has the features {names}; the data has {features.shape[1]}.")
        self.closest_kink = float("inf")

        def see(node: Expression, x: Tensor) -> None:
            if isinstance(node, Activation) and node.name == "relu":
                self.closest_kink = min(self.closest_kink, float(x.detach().abs().min()))

        value = evaluate(self.expression, dict(zip(self.inputs, features.unbind(1), strict=True)), see)
        return value.expand(len(features))
