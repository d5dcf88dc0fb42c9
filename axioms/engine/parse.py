"""Calls to operations: each reader knows the arguments of some torch functions; calls.py says of which.

A reader returns None where the call is passive, so that the plain gradient is its rule, and raises `Unreadable` where
it cannot tell what the call does with these arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from axioms.engine.facts import is_variable
from axioms.engine.kinds import ACTIVATION, CLAMP, GATE, LINEAR, NORMALIZER, PRODUCT, SOFTMAX, SUM
from axioms.engine.operations import Linear, Operation, Pointwise, Product, Softmax, Sum


class Call:
    """A call of a torch function: its name, the function and its arguments."""

    __slots__ = ("args", "func", "kwargs", "name")

    def __init__(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.func, self.args, self.kwargs = name, func, args, kwargs

    def run(self) -> Any:
        """Compute what torch computes."""
        return self.func(*self.args, **self.kwargs)

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """Return a positional-or-keyword argument."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name, default)

    def of(self, x: Tensor) -> Any:
        """Compute the same with another first argument."""
        others = {key: value for key, value in self.kwargs.items() if key != "input"}
        return self.func(x, *self.args[1:], **others)


Reader = Callable[[Call], Operation | None]


class Unreadable(Exception):
    """Raised for a call that its reader does not understand with these arguments."""


def read_layer(call: Call) -> Operation:
    """Read a linear map or a convolution, whose weights are constants."""
    x, weight, bias = (call.argument(i, name) for i, name in enumerate(("input", "weight", "bias")))
    rest, others = call.args[3:], {k: v for k, v in call.kwargs.items() if k not in ("input", "weight", "bias")}
    if is_variable(weight) or is_variable(bias):
        raise Unreadable  # its weights are computed from the input; compounds.py writes `linear` out
    if bias is not None and call.name != "linear":  # in front of the spatial dimensions
        bias = bias.reshape(-1, *(1,) * (weight.dim() - 2))
    return Linear(LINEAR, call.name, call.run, x, weight, bias, lambda x, w: call.func(x, w, None, *rest, **others))


def read_addmm(call: Call) -> Operation:
    """Read bias + x @ weight."""
    bias, x, weight = (call.argument(i, name) for i, name in enumerate(("input", "mat1", "mat2")))
    scaled = call.kwargs.get("beta", 1) != 1 or call.kwargs.get("alpha", 1) != 1
    if is_variable(weight) or is_variable(bias) or scaled:
        raise Unreadable
    return Linear(LINEAR, call.name, call.run, x, weight, bias, torch.mm)


def read_matmul(call: Call) -> Operation:
    """Read left @ right: a product of two variables, or a linear map."""
    right = call.args[1] if len(call.args) > 1 else next(iter(call.kwargs.values()))
    return _contraction(call, call.args[0], right)


def read_reflected_matmul(call: Call) -> Operation:
    """Read right.__rmatmul__(left)."""
    return _contraction(call, call.args[1], call.args[0])


def _contraction(call: Call, left: Tensor, right: Tensor) -> Operation:
    if is_variable(left) and is_variable(right):
        return Product(PRODUCT, call.name, call.run, (left, right), torch.matmul, contracts=True)
    if is_variable(left):
        return Linear(LINEAR, call.name, call.run, left, right, None, torch.matmul)
    return Linear(LINEAR, call.name, call.run, right, left, None, lambda x, w: torch.matmul(w, x))


def read_einsum(call: Call) -> Operation | None:
    """Read a sum of products: of several variables, or of one variable and a constant."""
    equation, operands = call.args[0], call.args[1:]
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    moving = [index for index, operand in enumerate(operands) if is_variable(operand)]

    def multiply(*factors: Tensor) -> Tensor:
        filled = list(operands)
        for index, factor in zip(moving, factors, strict=True):
            filled[index] = factor
        return torch.einsum(equation, *filled)

    if len(moving) > 1:
        factors = tuple(operands[index] for index in moving)
        return Product(PRODUCT, call.name, call.run, factors, multiply, contracts=True)
    if len(operands) != 2:
        return None  # a trace, a transpose, or several constants: linear, without one weight to single out
    place = moving[0]

    def apply(x: Tensor, weight: Tensor) -> Tensor:
        return torch.einsum(equation, *((x, weight) if place == 0 else (weight, x)))

    return Linear(LINEAR, call.name, call.run, operands[place], operands[1 - place], None, apply)


def read_mul(call: Call) -> Operation | None:
    """Read a product entry by entry; with a constant it is passive."""
    left, right = call.argument(0, "input"), call.argument(1, "other")
    if not (is_variable(left) and is_variable(right)):
        return None
    return Product(PRODUCT, call.name, call.run, (left, right), torch.mul)


def read_power(call: Call) -> Operation | None:
    """Read a power: a product of equal factors; a square root, or one over it, is a normalizer."""
    exponent = 2 if call.name == "square" else call.argument(1, "exponent")
    if not isinstance(exponent, int | float):
        raise Unreadable
    if exponent == 1:
        return None
    if exponent in (0.5, -0.5):
        root = torch.sqrt if exponent == 0.5 else torch.rsqrt
        return Pointwise(NORMALIZER, root.__name__, call.run, call.argument(0, "input"), root)
    if exponent != int(exponent) or exponent < 1:
        raise Unreadable

    def multiply(*factors: Tensor) -> Tensor:
        value = factors[0]
        for factor in factors[1:]:
            value = value * factor
        return value

    return Product(PRODUCT, call.name, call.run, (call.argument(0, "input"),) * int(exponent), multiply)


def read_add(call: Call) -> Operation:
    """Read left + alpha right."""
    return _sum(call, (1.0, call.kwargs.get("alpha", 1)))


def read_sub(call: Call) -> Operation:
    """Read left - alpha right."""
    return _sum(call, (1.0, -call.kwargs.get("alpha", 1)))


def read_reflected_sub(call: Call) -> Operation:
    """Read right - alpha left, with left first among the arguments."""
    return _sum(call, (-call.kwargs.get("alpha", 1), 1.0))


def _sum(call: Call, signs: tuple[float, float]) -> Operation:
    return Sum(SUM, call.name, call.run, (call.argument(0, "input"), call.argument(1, "other")), signs)


def read_reduction(call: Call) -> Operation:
    """Read a sum over entries of one variable."""
    return Sum(SUM, call.name, call.run, (), ())


def read_softmax(call: Call) -> Operation:
    """Read a softmax along one dimension."""
    dim = call.argument(1, "dim")
    return Softmax(SOFTMAX, call.name, call.run, call.argument(0, "input"), call.of, -1 if dim is None else dim)


def read_division(call: Call) -> Operation | None:
    """Read a quotient: passive by a constant; by a variable it normalizes, and the denominator is held constant."""
    numerator, denominator = call.argument(0, "input"), call.argument(1, "other")
    if call.name.startswith("__r"):
        numerator, denominator = denominator, numerator
    if not is_variable(denominator):
        return None
    if not is_variable(numerator) or call.kwargs.get("rounding_mode") is not None:
        raise Unreadable
    constant = denominator.detach()
    return Product(PRODUCT, "division", lambda: numerator / constant, (numerator,), lambda x: x / constant)


def read_clamp(call: Call) -> Operation:
    """Read a clamp, an activation if it leaves zero alone; a bound that depends on the input is none.

    Bounds may be constant tensors: T5 computes those with which it guards float16.
    """
    low, high = call.argument(1, "min"), call.argument(2, "max")
    if is_variable(low) or is_variable(high):
        raise Unreadable
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None and bool((torch.as_tensor(bound) * sign > 0).any()):
            raise Unreadable
    return Pointwise(ACTIVATION, CLAMP, call.run, call.argument(0, "input"), call.of)


def read_activation(call: Call) -> Operation:
    """Read a function with g(0) = 0, entry by entry."""
    return Pointwise(ACTIVATION, call.name, call.run, call.argument(0, "input"), call.of)


def read_gate(call: Call) -> Operation:
    """Read a function with g(0) != 0, entry by entry."""
    return Pointwise(GATE, call.name, call.run, call.argument(0, "input"), call.of)


def read_normalizer(call: Call) -> Operation:
    """Read a deviation, a norm or a root, by which something is divided."""
    return Pointwise(NORMALIZER, call.name, call.run, call.argument(0, "input"), call.of)
