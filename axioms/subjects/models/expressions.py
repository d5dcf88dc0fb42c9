"""Small computation graphs as text: `(a * a) * b`, `relu(linear([2, -1], [a, b]))`, `softmax([a, b])[0] * c`.

Parsed by Python's own grammar with a whitelist; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
VECTOR_FUNCTIONS = ("softmax", "layer_norm", "rms_norm")
DEEPEST = 50


@dataclass(frozen=True)
class Expression:
    """A node with its children; `text` is what a spec writes."""

    @property
    def children(self) -> tuple[Expression, ...]:
        """What it is computed from."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same operation on others."""
        return self


@dataclass(frozen=True)
class Variable(Expression):
    """A feature."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Number(Expression):
    """A constant."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Binary(Expression):
    """A sum, a difference or a product of two."""

    sign: str
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """Both operands."""
        return self.left, self.right

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same with other operands."""
        return Binary(self.sign, *children)

    def __str__(self) -> str:
        left, right = (f"({each})" if isinstance(each, Binary) else str(each) for each in self.children)
        return f"{left}{self.sign}{right}" if self.sign == "*" else f"{left} {self.sign} {right}"


@dataclass(frozen=True)
class Activation(Expression):
    """An activation of one value."""

    name: str
    value: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """Its input."""
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same of another input."""
        return Activation(self.name, children[0])

    def __str__(self) -> str:
        return f"{self.name}({self.value})"


@dataclass(frozen=True)
class Linear(Expression):
    """linear([w1, w2], [x1, x2]) = w1 x1 + w2 x2, as one linear map."""

    weights: tuple[float, ...]
    values: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        """What is weighted."""
        return self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same weights on others."""
        return Linear(self.weights, children)

    def __str__(self) -> str:
        return f"linear([{', '.join(f'{each:g}' for each in self.weights)}], [{', '.join(map(str, self.values))}])"


@dataclass(frozen=True)
class Entry(Expression):
    """One entry of a softmax or a norm over several values."""

    name: str
    values: tuple[Expression, ...]
    index: int

    @property
    def children(self) -> tuple[Expression, ...]:
        """The vector."""
        return self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same entry over another vector."""
        return Entry(self.name, children, self.index)

    def __str__(self) -> str:
        return f"{self.name}([{', '.join(map(str, self.values))}])[{self.index}]"


def parse(text: str) -> Expression:
    """The expression that a text writes; `InputError` with a sentence for anything that is none."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} is not an expression.") from None
    return _read(tree, text, 0)


def _read(node: ast.AST, text: str, depth: int) -> Expression:
    def inner(child: ast.AST) -> Expression:
        return _read(child, text, depth + 1)

    if depth > DEEPEST:
        raise InputError(f"an expression is at most {DEEPEST} levels deep.")
    match node:
        case ast.Name(id=name):
            return Variable(name)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Number(float(value))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return Number(-float(value))
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() as op, left=left, right=right):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(op)]
            return Binary(sign, inner(left), inner(right))
        case ast.Call(func=ast.Name(id=name), args=[value], keywords=[]) if name in ACTIVATIONS:
            return Activation(name, inner(value))
        case ast.Call(func=ast.Name(id="linear"), args=[ast.List(elts=weights), ast.List(elts=values)], keywords=[]):
            numbers = [inner(each) for each in weights]
            if len(numbers) == len(values) and values and all(isinstance(each, Number) for each in numbers):
                return Linear(
                    tuple(each.value for each in numbers if isinstance(each, Number)), tuple(map(inner, values))
                )
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id=name), args=[ast.List(elts=values)], keywords=[]),
            slice=ast.Constant(value=int() as index),
        ) if name in VECTOR_FUNCTIONS and 0 <= index < len(values):
            return Entry(name, tuple(map(inner, values)), index)
    raise InputError(
        f"{ast.unparse(node)!r} in {text!r} is not part of an expression; use names, numbers, +, -, *, "
        f"{', '.join(f'{name}(x)' for name in ACTIVATIONS)}, linear([2, -1], [x, y]) and "
        f"{', '.join(f'{name}([x, y])[0]' for name in VECTOR_FUNCTIONS)}."
    )


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def variables(expression: Expression) -> list[str]:
    """The names in it, in alphabetical order: the order of the features."""
    return sorted({each.name for each in walk(expression) if isinstance(each, Variable)})


def operations(expression: Expression) -> int:
    """How many operations it has."""
    return sum(not isinstance(each, Variable | Number) for each in walk(expression))


def evaluate(expression: Expression, values: dict[str, Tensor], see: Callable[[Expression, Tensor], None]) -> Tensor:
    """The value for each example; `see` is told the input of each activation."""
    import torch
    from torch.nn import functional as F

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
    raise AssertionError(f"unknown expression {expression!r}")


EPS = 1e-2
"""Of the norms: removing a feature may leave them nothing but zeros."""
