"""Ways to write the same function: each gives, for one node, the nodes that equal it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

from axioms.subjects.models.expressions import Activation, Attention, Binary, Entry, Expression, Linear, Number

Equivalence = Callable[[Expression], Iterator[Expression]]


def associativity(node: Expression) -> Iterator[Expression]:
    """(x y) z = x (y z), and the same for sums."""
    match node:
        case Binary(sign="*" | "+" as sign, left=Binary(sign=inner, left=x, right=y), right=z) if inner == sign:
            yield Binary(sign, x, Binary(sign, y, z))
    match node:
        case Binary(sign="*" | "+" as sign, left=x, right=Binary(sign=inner, left=y, right=z)) if inner == sign:
            yield Binary(sign, Binary(sign, x, y), z)


def commutativity(node: Expression) -> Iterator[Expression]:
    """x y = y x, and the same for sums, for the entries of a vector and for the keys that are attended to."""
    match node:
        case Binary(sign="*" | "+" as sign, left=x, right=y):
            yield Binary(sign, y, x)
        case Linear(weights=weights, values=values) if len(values) > 1:
            yield Linear(weights[::-1], values[::-1])
        case Entry(name=name, values=values, index=index) if len(values) > 1:
            yield Entry(name, values[::-1], len(values) - 1 - index)
        case Attention(query=query, keys=keys, values=values) if len(keys) > 1:
            yield Attention(query, keys[::-1], values[::-1])


def distributivity(node: Expression) -> Iterator[Expression]:
    """x (y + z) = x y + x z."""
    match node:
        case Binary(sign="*", left=x, right=Binary(sign="+" | "-" as sign, left=y, right=z)):
            yield Binary(sign, Binary("*", x, y), Binary("*", x, z))


def folding(node: Expression) -> Iterator[Expression]:
    """W_2 (W_1 x) = (W_2 W_1) x; and a sum is a linear map with weights 1."""
    match node:
        case Linear(weights=weights, values=values):
            for place, inner in enumerate(values):
                if isinstance(inner, Linear):
                    folded = tuple(weights[place] * weight for weight in inner.weights)
                    yield Linear(
                        (*weights[:place], *folded, *weights[place + 1 :]),
                        (*values[:place], *inner.values, *values[place + 1 :]),
                    )
        case Binary(sign="+" | "-" as sign, left=x, right=y):
            yield Linear((1.0, 1.0 if sign == "+" else -1.0), (x, y))


def scaling(node: Expression) -> Iterator[Expression]:
    """relu(x) = relu(2 x) / 2; a product, and so the logits of attention, does not see a factor and its inverse."""
    match node:
        case Activation(name="relu", value=x):
            yield Binary("*", Number(0.5), Activation("relu", Binary("*", Number(2.0), x)))
        case Binary(sign="*", left=x, right=y):
            yield Binary("*", Binary("*", Number(2.0), x), Binary("*", Number(0.5), y))
        case Attention(query=query, keys=keys, values=values):
            smaller = tuple(Binary("*", Number(0.5), key) for key in keys)
            yield Attention(Binary("*", Number(2.0), query), smaller, values)


def shifting(node: Expression) -> Iterator[Expression]:
    """softmax(x + c) = softmax(x), and the same for a LayerNorm and for the keys that are attended to."""
    match node:
        case Entry(name="softmax" | "layer_norm" as name, values=values, index=index):
            yield Entry(name, tuple(Binary("+", value, Number(1.0)) for value in values), index)
        case Attention(query=query, keys=keys, values=values):
            yield Attention(query, tuple(Binary("+", key, Number(1.0)) for key in keys), values)


def writing_out(node: Expression) -> Iterator[Expression]:
    """attention(q, k, v) = softmax(q k)[0] v[0] + softmax(q k)[1] v[1] + ..."""
    match node:
        case Attention(query=query, keys=keys, values=values):
            logits = tuple(Binary("*", query, key) for key in keys)
            parts = [Binary("*", Entry("softmax", logits, place), value) for place, value in enumerate(values)]
            yield reduce(lambda left, right: Binary("+", left, right), parts)


EQUIVALENCES: dict[str, Equivalence] = {
    step.__name__: step
    for step in (associativity, commutativity, distributivity, folding, scaling, shifting, writing_out)
}


def rewritings(expression: Expression) -> Iterator[tuple[str, Expression]]:
    """Yield everything that one step somewhere in the expression makes of it, with the name of the step."""
    for name, step in EQUIVALENCES.items():
        for node in step(expression):
            yield name, node
    children = expression.children
    for place, child in enumerate(children):
        for name, other in rewritings(child):
            yield name, expression.with_children((*children[:place], other, *children[place + 1 :]))
