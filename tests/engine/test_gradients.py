"""The parts that rules are made of: a value with another backward pass, and what they hold on to."""

from __future__ import annotations

import math

import pytest
import torch

from axioms.engine.gradients import divided, stabilized, weight_gradient, with_gradient_of


def test_a_quotient_is_nothing_where_it_is_no_number() -> None:
    one, nothing = torch.tensor(1.0), torch.tensor(0.0)
    for numerator, denominator, wanted in (
        (one, nothing, 0.0),
        (-one, nothing, 0.0),
        (nothing, nothing, 0.0),
        (3 * one, 2 * one, 1.5),
        (-nothing, one, 0.0),
    ):
        assert float(divided(numerator, denominator)) == wanted


@pytest.mark.parametrize("epsilon", [1e-6, 0.3])
@pytest.mark.parametrize("parts", [1, 2])
def test_the_factor_of_a_gradient_has_none_itself(parts: int, epsilon: float) -> None:
    """It is a number as soon as it is known: nothing of the value's own graph is held for it."""
    value = torch.tensor([2.0, 0.0, -0.5, math.inf, -math.inf], requires_grad=True) * 1
    share = stabilized(value, parts, epsilon)
    assert isinstance(share, torch.Tensor)
    assert not share.requires_grad
    wanted = [2 / (2 * parts + epsilon), 0.0, 0.5 / (0.5 * parts + epsilon), 1 / parts, 1 / parts]
    torch.testing.assert_close(share, torch.tensor(wanted))


def test_a_value_with_the_gradient_of_another_lets_go_of_its_own() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    value, stand_in = x.exp(), 3 * x
    found = with_gradient_of(value, stand_in)
    assert torch.equal(found, value)
    assert found.grad_fn is not None
    behind = {node for node, _ in found.grad_fn.next_functions}
    assert value.grad_fn not in behind
    assert stand_in.grad_fn in behind
    (gradient,) = torch.autograd.grad(found.sum(), x)
    assert gradient.tolist() == [3.0, 3.0]
    assert not with_gradient_of(value, torch.ones(2)).requires_grad


def test_a_weight_counts_on_its_own_way_alone() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = torch.autograd.grad((weight_gradient(x, 5.0) + 2 * x).sum(), x)
    assert gradient.tolist() == [7.0, 7.0]
    assert torch.equal(weight_gradient(x, 5.0), x)
