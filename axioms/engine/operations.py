"""What a call of the forward pass does with its variables: a linear map, a product, a softmax, a norm, ...

An operand is a variable if it depends on the input. A product of variables is the bilinear operation; a product with a
constant is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LINEAR = "linear"
SUM = "sum"
PRODUCT = "product"
SOFTMAX = "softmax"
NORM = "norm"
NORMALIZER = "normalizer"
ACTIVATION = "activation"
GATE = "gate"
BLOCK = "block"
CLAMP = "clamp"
"""The one activation that gates nothing: it guards against overflow, and what leaves it is what entered."""
CONSTANT_HEADS = "_axioms_constant_heads"
"""Mark of attention weights of which some heads are held constant: true where they are, broadcast over the heads."""
KINDS = (LINEAR, SUM, PRODUCT, SOFTMAX, NORM, NORMALIZER, ACTIVATION, GATE, BLOCK)


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
        """The terms, plain numbers as tensors too; made only where they are asked for."""
        device = next((each.device for each in self.given if isinstance(each, Tensor)), None)
        return tuple(each if isinstance(each, Tensor) else torch.tensor(each, device=device) for each in self.given)

    @property
    def constants(self) -> list[Tensor]:
        """The terms that do not depend on the input, with their signs."""
        return [sign * term for term, sign in zip(self.terms, self.signs, strict=True) if not term.requires_grad]


@dataclass
class Product(Operation):
    """multiply(*factors), linear in each factor. A square is a product of a factor with itself."""

    factors: tuple[Tensor, ...]
    multiply: Callable[..., Tensor]


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
    """A module as one operation: its value as a function of all its variables together (axioms/engine/blocks.py)."""

    inputs: tuple[Tensor, ...]
    function: Callable[..., Tensor]


def has_variable(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether any argument depends on the input; asked of every call, so written for speed."""
    for value in args:
        if isinstance(value, Tensor):
            if value.requires_grad:
                return True
        elif isinstance(value, list | tuple) and has_variable(tuple(value), {}):
            return True
    return has_variable(tuple(kwargs.values()), {}) if kwargs else False


def variables(values: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among `values`, lists included, that depend on the input."""
    for value in values:
        if isinstance(value, Tensor):
            if value.requires_grad:
                yield value
        elif isinstance(value, list | tuple):
            yield from variables(value)
