"""How facts cross each kind of call."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from axioms.engine import facts, kinds
from axioms.engine.facts import Facts, Mixture, Origin
from axioms.engine.facts.crossing import after, cross
from axioms.engine.operations import Operation, Pointwise, Product

EVERYTHING = Facts(
    varies=True,
    is_activated=True,
    is_scores=True,
    is_weights=True,
    degree=3,
    softmaxes=frozenset((2,)),
    origin=Origin("attention", True),
)
FRESH = Facts(varies=True, softmaxes=frozenset((2,)))
"""What stays of a value that another function was made of."""


def pointwise(kind: str, name: str) -> Operation:
    return Pointwise(kind, name, lambda: torch.ones(1), torch.ones(1), torch.relu)


def product(*degrees: int, contracts: bool = False) -> Product:
    factors = []
    for degree in degrees:
        factor = torch.ones(1)
        facts.note(factor, Facts(degree=degree))
        factors.append(factor)
    return Product(kinds.PRODUCT, "mul", lambda: torch.ones(1), tuple(factors), torch.mul, contracts)


@pytest.mark.parametrize(
    ("kind", "operation", "wanted"),
    [
        (kinds.LINEAR, None, FRESH._replace(degree=3)),
        (kinds.NORMALIZER, None, FRESH._replace(normalizes=True)),
        (kinds.NORM, None, FRESH),
        (kinds.BLOCK, None, FRESH),
        (kinds.SUM, None, EVERYTHING),
        (kinds.FILL, None, EVERYTHING),
        (kinds.SCALE, None, EVERYTHING),
        (kinds.LOG_SOFTMAX, None, EVERYTHING._replace(is_scores=False)),
        (kinds.SOFTMAX, None, FRESH._replace(is_weights=True, softmaxes=frozenset((5,)), origin=EVERYTHING.origin)),
        (kinds.ACTIVATION, None, FRESH._replace(is_activated=True, is_scores=True, origin=EVERYTHING.origin)),
        (kinds.ACTIVATION, pointwise(kinds.ACTIVATION, kinds.CLAMP), EVERYTHING),
        (kinds.GATE, None, FRESH._replace(is_scores=True, origin=EVERYTHING.origin)),
        (
            kinds.GATE,
            pointwise(kinds.GATE, "sigmoid"),
            FRESH._replace(is_activated=True, is_scores=True, origin=EVERYTHING.origin),
        ),
        (kinds.GATE, pointwise(kinds.GATE, "exp"), FRESH._replace(origin=EVERYTHING.origin)),
        (kinds.PRODUCT, product(3), EVERYTHING._replace(is_activated=False, degree=1)),
        (
            kinds.PRODUCT,
            product(3, 2),
            FRESH._replace(is_scores=True, degree=5, origin=Origin("layers.4.mlp", False)),
        ),
    ],
)
def test_what_is_known_after_a_call(kind: str, operation: Operation | None, wanted: Facts) -> None:
    assert after(kind, [EVERYTHING], [EVERYTHING], operation, "layers.4.mlp") == wanted


def test_a_softmax_outside_the_layers_adds_none() -> None:
    assert after(kinds.SOFTMAX, [EVERYTHING], [EVERYTHING], None, "head").softmaxes == EVERYTHING.softmaxes


def test_where_nothing_was_known() -> None:
    plain, there = facts.PLAIN, "layers.4.mlp"
    made = after(kinds.PRODUCT, [plain, plain], [plain, plain], product(1, 1, contracts=True), there)
    assert made == Facts(is_scores=True, degree=2, origin=Origin(there, True))
    assert after(kinds.PRODUCT, [plain, plain], [plain, plain], product(1, 1), there) == Facts(
        degree=2, origin=Origin(there, False)
    )
    entrywise = Facts(origin=Origin("mlp", False))
    assert after(kinds.SOFTMAX, [entrywise], [entrywise], None, there).origin is None
    assert after(kinds.SUM, [], [], None, there) == plain


@pytest.mark.parametrize("kind", [kinds.SCALE, kinds.PRODUCT])
def test_a_product_with_a_deviation_is_a_norm(kind: str) -> None:
    deviation = Facts(varies=True, normalizes=True, degree=1)
    value = EVERYTHING
    assert after(kind, [value, deviation], [value, deviation], product(3, 1), "") == Facts(varies=True)
    assert after(kind, [value, deviation], [value], None, "") == FRESH
    assert after(kind, [deviation, deviation], [deviation, deviation], product(1, 1), "") == Facts(
        varies=True, normalizes=True
    )


def test_a_number_times_a_held_activation_is_activated() -> None:
    """x sigmoid(x) with the sigmoid held constant: the whole is an activation."""
    value, gate = Facts(degree=2), Facts(is_activated=True)
    assert after(kinds.SCALE, [value, gate], [value], None, "") == Facts(degree=2, is_activated=True)
    assert after(kinds.SCALE, [value, facts.PLAIN], [value], None, "") == value


def mixed(*shape: int) -> Tensor:
    """A variable of which the first column is held."""
    x = torch.ones(shape, requires_grad=True) * 1
    return facts.hold(x, torch.arange(shape[-1]) == 0)


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3)])
def test_a_mixture_stays_one_entry_by_entry_in_the_shape_of_the_value(shape: tuple[int, ...]) -> None:
    x, constant = mixed(2, 3), torch.ones(shape)
    value = x * constant
    cross(kinds.SCALE, torch.mul, (x, constant), {}, value)
    held = facts.held_entries(value)
    assert held is not None
    assert held.shape == shape
    assert bool(held[..., 0].all())
    assert not bool(held[..., 1:].any())


def test_a_sum_over_entries_of_a_mixture_is_none() -> None:
    x = mixed(2, 3)
    value = x @ torch.ones(3, 2)
    cross(kinds.LINEAR, torch.matmul, (x, torch.ones(3, 2)), {}, value)
    assert not isinstance(facts.known_of(value), Mixture)


def test_each_tensor_that_a_call_returns_has_facts_whatever_stands_beside_it() -> None:
    x = torch.ones(2, 4, requires_grad=True) * 1
    facts.note(x, Facts(degree=2))
    first, second = x.chunk(2, dim=1)
    value: Any = (first, None, second)
    cross(kinds.MOVE, torch.chunk, (x, 2), {"dim": 1}, value)
    assert facts.of(first).degree == facts.of(second).degree == 2
    cross(kinds.MOVE, Tensor.size, (x,), {}, (2, 4))  # a shape has none
