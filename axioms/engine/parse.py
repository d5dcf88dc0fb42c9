"""Torch functions to operations, by name. To cover another function, name it in functions.py or parse it here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

import axioms.engine.norms  # noqa: F401, registers its parsers
from axioms.engine.functions import ACTIVATIONS, GATES, JOINS, NORMALIZERS
from axioms.engine.operations import (
    ACTIVATION,
    CLAMP,
    GATE,
    LINEAR,
    NORMALIZER,
    PRODUCT,
    SOFTMAX,
    SUM,
    Linear,
    Operation,
    Pointwise,
    Product,
    Softmax,
    Sum,
)
from axioms.engine.parser import PARSERS, Args, Kwargs, argument, is_variable, parser


def parse(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    """The operation behind a call; KeyError where nothing here knows the function."""
    return PARSERS[name](name, func, args, kwargs)


@parser("linear", "conv1d", "conv2d", "conv3d")
def _layer(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    value, weight = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "weight")
    bias, rest = argument(args, kwargs, 2, "bias"), args[3:]
    others = {key: each for key, each in kwargs.items() if key not in ("input", "weight", "bias")}
    if is_variable(weight) or is_variable(bias):
        raise KeyError(name)  # a layer whose weights are computed from the input; see decomposed.py for `linear`

    def apply(x: Tensor, w: Tensor) -> Tensor:
        return func(x, w, None, *rest, **others)

    if bias is not None and name.startswith("conv"):  # in front of the spatial dimensions
        bias = bias.reshape(-1, *(1,) * (weight.dim() - 2))
    return Linear(LINEAR, name, lambda: func(*args, **kwargs), value, weight, bias, apply)


@parser("addmm")
def _addmm(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    bias, value, weight = (argument(args, kwargs, i, key) for i, key in enumerate(("input", "mat1", "mat2")))
    if is_variable(weight) or is_variable(bias) or kwargs.get("beta", 1) != 1 or kwargs.get("alpha", 1) != 1:
        raise KeyError(name)
    return Linear(LINEAR, name, lambda: func(*args, **kwargs), value, weight, bias, torch.mm)


@parser("matmul", "__matmul__", "mm", "bmm")
def _matmul(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    left = args[0]
    right = args[1] if len(args) > 1 else next(iter(kwargs.values()))
    return _contraction(name, lambda: func(*args, **kwargs), left, right, torch.matmul)


@parser("__rmatmul__")
def _rmatmul(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    return _contraction(name, lambda: func(*args, **kwargs), args[1], args[0], torch.matmul)


@parser("einsum")
def _einsum(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    equation, operands = args[0], args[1:]
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
        return Product(PRODUCT, name, lambda: func(*args, **kwargs), factors, multiply)
    if len(operands) != 2:
        return None  # a trace, a transpose, or several constants: linear, without one weight to single out
    weight = operands[1 - moving[0]]
    order = (
        (lambda x, w: torch.einsum(equation, x, w)) if moving[0] == 0 else (lambda x, w: torch.einsum(equation, w, x))
    )
    return Linear(LINEAR, name, lambda: func(*args, **kwargs), operands[moving[0]], weight, None, order)


def _contraction(
    name: str, forward: Callable[[], Tensor], left: Tensor, right: Tensor, multiply: Callable[[Tensor, Tensor], Tensor]
) -> Operation:
    if is_variable(left) and is_variable(right):
        return Product(PRODUCT, name, forward, (left, right), multiply)
    if is_variable(left):
        return Linear(LINEAR, name, forward, left, right, None, multiply)
    return Linear(LINEAR, name, forward, right, left, None, lambda x, w: multiply(w, x))


@parser("mul", "__mul__", "__rmul__", "multiply", "mul_", "__imul__")
def _mul(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    left, right = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "other")
    if not (is_variable(left) and is_variable(right)):
        return None
    return Product(PRODUCT, name, lambda: func(*args, **kwargs), (left, right), torch.mul)


@parser("pow", "__pow__", "square")
def _power(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    exponent = 2 if name == "square" else argument(args, kwargs, 1, "exponent")
    if not isinstance(exponent, int | float) or exponent != int(exponent) or exponent < 1:
        raise KeyError(name)

    def multiply(*factors: Tensor) -> Tensor:
        value = factors[0]
        for factor in factors[1:]:
            value = value * factor
        return value

    return Product(PRODUCT, name, lambda: func(*args, **kwargs), (args[0],) * int(exponent), multiply)


@parser("add", "__add__", "__radd__", "add_", "__iadd__", "sub", "__sub__", "sub_", "__isub__", "__rsub__", "rsub")
def _add(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    alpha = kwargs.get("alpha", 1)
    signs = {"r": (-alpha, 1.0), "s": (1.0, -alpha)}.get(name.strip("_").removeprefix("i")[0], (1.0, alpha))
    if name == "__radd__":
        signs = (1.0, 1.0)
    given = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "other")
    return Sum(SUM, name, lambda: func(*args, **kwargs), given, signs)


@parser("sum", "mean", "cumsum", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d")
def _reduction(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    return Sum(SUM, name, lambda: func(*args, **kwargs), (), ())


@parser(*JOINS)
def _joins(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    """Puts variables beside constants: passive to the rules, but the constants take their share in the ledger."""
    return None


@parser("softmax", "_safe_softmax")
def _softmax(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    dim = argument(args, kwargs, 1, "dim")
    value, other = args[0] if args else kwargs["input"], {key: kwargs[key] for key in kwargs if key != "input"}
    forward = partial(func, *args, **kwargs)
    return Softmax(SOFTMAX, name, forward, value, lambda x: func(x, *args[1:], **other), -1 if dim is None else dim)


@parser("div", "__truediv__", "true_divide", "divide", "div_", "__itruediv__", "__rtruediv__", "__rdiv__")
def _division(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    """By a constant it is passive. By a variable it normalizes: the denominator is held constant."""
    numerator, denominator = argument(args, kwargs, 0, "input"), argument(args, kwargs, 1, "other")
    if name.startswith("__r"):
        numerator, denominator = denominator, numerator
    if not is_variable(denominator):
        return None
    if not is_variable(numerator) or kwargs.get("rounding_mode") is not None:
        raise KeyError(name)
    held = denominator.detach()
    return Product(PRODUCT, "division", lambda: numerator / held, (numerator,), lambda x: x / held)


@parser(*ACTIVATIONS)
def _activation(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    return _pointwise(ACTIVATION, name, func, args, kwargs)


@parser("clamp", "clip")
def _clamp(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    """An activation if it leaves zero alone; a bound that depends on the input is none.

    Bounds may be constant tensors: T5 computes those with which it guards float16.
    """
    low, high = argument(args, kwargs, 1, "min", None), argument(args, kwargs, 2, "max", None)
    if is_variable(low) or is_variable(high) or _any(low, lambda bound: bound > 0) or _any(high, lambda b: b < 0):
        raise KeyError(name)
    return _pointwise(ACTIVATION, CLAMP, func, args, kwargs)


def _any(bound: Any, wrong: Callable[[Any], Any]) -> bool:
    """Whether a bound, if there is one, is wrong somewhere."""
    return bound is not None and bool(wrong(bound).any() if isinstance(bound, Tensor) else wrong(bound))


@parser(*GATES)
def _gate(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    return _pointwise(GATE, name, func, args, kwargs)


@parser(*NORMALIZERS)
def _normalizer(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    return _pointwise(NORMALIZER, name, func, args, kwargs)


def _pointwise(kind: str, name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation:
    value = args[0] if args else kwargs["input"]
    others = {key: each for key, each in kwargs.items() if key != "input"}
    return Pointwise(kind, name, lambda: func(*args, **kwargs), value, lambda x: func(x, *args[1:], **others))
