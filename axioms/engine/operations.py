"""Operations: what a call of the forward pass does with its variables, and what a rule is given.

An operand is a variable if it depends on the input. A product of variables is the bilinear operation; a product with a
constant is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.core.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class Operation:
    """One call: its kind, the torch function's name, and how to compute its value with torch's own gradient."""

    kind: str
    name: str
    forward: Callable[[], Tensor]


@dataclass
class Linear(Operation):
    """apply(input, weight) + bias, linear in the input; the bias broadcasts over the output."""

    input: Tensor
    weight: Tensor
    bias: Tensor | None
    apply: Callable[[Tensor, Tensor], Tensor]


@dataclass
class Sum(Operation):
    """A sum of terms, some of which may be constants: positions, token types, masks."""

    given: tuple[Tensor | float, ...]
    signs: tuple[float, ...]

    @property
    def terms(self) -> tuple[Tensor, ...]:
        """The terms, plain numbers as tensors too."""
        device = next((term.device for term in self.given if isinstance(term, torch.Tensor)), None)
        return tuple(
            term if isinstance(term, torch.Tensor) else torch.tensor(term, device=device) for term in self.given
        )

    @property
    def constants(self) -> list[Tensor]:
        """The terms that do not depend on the input, with their signs."""
        return [sign * term for term, sign in zip(self.terms, self.signs, strict=True) if not term.requires_grad]


@dataclass
class Product(Operation):
    """multiply(*factors), linear in each factor. A square is a product of a factor with itself."""

    factors: tuple[Tensor, ...]
    multiply: Callable[..., Tensor]
    contracts: bool = False
    """Whether it sums over a common index, as Q K' does, and does not multiply entry by entry."""

    @property
    def is_division(self) -> bool:
        """Whether it is a quotient, whose denominator is held constant: its numerator is the only factor."""
        return len(self.factors) == 1


@dataclass
class Norm(Operation):
    """(x - mean) * inverse_deviation * weight + bias; without the mean for an RMS norm."""

    input: Tensor
    weight: Tensor | None
    bias: Tensor | None
    eps: float
    dims: tuple[int, ...]
    """Dimensions of `grouped(input)` that are normalized together."""
    centered: bool
    grouped: Callable[[Tensor], Tensor]
    """The input with its groups as dimensions; the identity but for group norms."""


@dataclass
class Pointwise(Operation):
    """A function of one input, entry by entry: an activation, a gate, a softmax's input, a normalizer."""

    input: Tensor
    function: Callable[[Tensor], Tensor]
    """The same function of another input."""


@dataclass
class Softmax(Pointwise):
    """A softmax, which is a function of all entries along one dimension."""

    dim: int


@dataclass
class Block(Operation):
    """A module as one operation: its value as a function of all its variables together (handlers/blocks.py)."""

    inputs: tuple[Tensor, ...]
    function: Callable[..., Tensor]
