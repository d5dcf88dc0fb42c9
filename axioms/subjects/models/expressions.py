"""Small computation graphs as text: `(a * a) * b`, `relu(linear([2, -1], [a, b]))`, `softmax([a, b])[0] * c`.

Parsed by Python's own grammar with a whitelist; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from axioms.core.errors import InputError

ACTIVATIONS = ("relu", "gelu", "silu", "tanh")
VECTOR_FUNCTIONS = ("softmax", "layer_norm", "rms_norm")
DEEPEST = 50


@dataclass(frozen=True)
class Expression:
    """A node with its children; `text` is what a spec writes."""

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions that it is computed from."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """Return the same operation on other children."""
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
        """Return the same operation on other operands."""
        return Binary(self.sign, *children)

    def __str__(self) -> str:
        left, right = (f"({child})" if isinstance(child, Binary) else str(child) for child in self.children)
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
        """Return the same activation of another input."""
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
        """The values that are weighted."""
        return self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """Return the same weights on other values."""
        return Linear(self.weights, children)

    def __str__(self) -> str:
        return f"linear([{', '.join(f'{weight:g}' for weight in self.weights)}], [{', '.join(map(str, self.values))}])"


@dataclass(frozen=True)
class Entry(Expression):
    """One entry of a softmax or a norm over several values."""

    name: str
    values: tuple[Expression, ...]
    index: int

    @property
    def children(self) -> tuple[Expression, ...]:
        """The entries of the vector."""
        return self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """Return the same entry over another vector."""
        return Entry(self.name, children, self.index)

    def __str__(self) -> str:
        return f"{self.name}([{', '.join(map(str, self.values))}])[{self.index}]"


@dataclass(frozen=True)
class Attention(Expression):
    """attention(q, [k1, k2], [v1, v2]) = sum_j softmax(q k1, q k2)_j vj: one query of a head, as matrix products."""

    query: Expression
    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        """The query, the keys and the values."""
        return self.query, *self.keys, *self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """Return attention over other parts."""
        end = 1 + len(self.keys)
        return Attention(children[0], children[1:end], children[end:])

    def __str__(self) -> str:
        return f"attention({self.query}, [{', '.join(map(str, self.keys))}], [{', '.join(map(str, self.values))}])"


def parse(text: str) -> Expression:
    """Return the expression that a text writes; raise `InputError` with a sentence for anything else."""
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
            numbers = [number.value for number in map(inner, weights) if isinstance(number, Number)]
            if len(numbers) == len(weights) == len(values) and values:
                return Linear(tuple(numbers), tuple(map(inner, values)))
        case ast.Call(
            func=ast.Name(id="attention"), args=[query, ast.List(elts=keys), ast.List(elts=values)], keywords=[]
        ) if len(keys) == len(values) and keys:
            return Attention(inner(query), tuple(map(inner, keys)), tuple(map(inner, values)))
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id=name), args=[ast.List(elts=values)], keywords=[]),
            slice=ast.Constant(value=int() as index),
        ) if name in VECTOR_FUNCTIONS and 0 <= index < len(values):
            return Entry(name, tuple(map(inner, values)), index)
    raise InputError(
        f"{ast.unparse(node)!r} in {text!r} is not part of an expression; use names, numbers, +, -, *, "
        f"{', '.join(f'{name}(x)' for name in ACTIVATIONS)}, linear([2, -1], [x, y]), attention(x, [x, y], [x, y]) and "
        f"{', '.join(f'{name}([x, y])[0]' for name in VECTOR_FUNCTIONS)}."
    )


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything in it."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def variables(expression: Expression) -> list[str]:
    """Return the names in it, in alphabetical order: the order of the features."""
    return sorted({node.name for node in walk(expression) if isinstance(node, Variable)})


def operations(expression: Expression) -> int:
    """Return how many operations it has."""
    return sum(not isinstance(node, Variable | Number) for node in walk(expression))
