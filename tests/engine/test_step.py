"""One step of the explicit engine: what it hands out is linear in what arrives, as often as it is asked."""

from __future__ import annotations

import torch

from axioms.engine.operations import Sum
from axioms.engine.step import Step, contributions, contributions_of
from tests.engine.rule_cases import drawn

x, w = drawn(2, 3), drawn(4, 3)


def test_contributions_are_inputs_times_slopes_however_often_they_are_asked_for() -> None:
    leaf = x.clone().requires_grad_()
    share = contributions((leaf @ w.T).square(), [leaf])
    for seed in (1, 2, 1):
        quotient = drawn(2, 4, seed=seed)
        (found,) = share(quotient)
        torch.testing.assert_close(found.detach(), x * ((2 * (x @ w.T) * quotient) @ w))


def test_an_input_that_nothing_reads_contributes_nothing() -> None:
    leaves = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    first, second = contributions(leaves[0] * 2, leaves)(torch.ones_like(x))
    torch.testing.assert_close(first.detach(), 2 * x)
    assert torch.equal(second.detach(), torch.zeros_like(x))


def test_an_infinite_input_without_slope_contributes_nothing() -> None:
    leaf = torch.tensor([1.0, -torch.inf], dtype=torch.float64).requires_grad_()
    (found,) = contributions(leaf.exp(), [leaf])(torch.ones(2, dtype=torch.float64))
    assert found.tolist() == [torch.tensor(1.0, dtype=torch.float64).exp().item(), 0.0]


def test_one_tensor_in_two_places_contributes_at_each() -> None:
    leaf = x.clone().requires_grad_()
    first, second = contributions_of(lambda left, right: left * right.square(), [leaf, leaf])(torch.ones_like(x))
    torch.testing.assert_close(first.detach(), x**3)
    torch.testing.assert_close(second.detach(), 2 * x**3)


def test_a_step_stabilizes_by_its_own_epsilon_unless_another_is_given() -> None:
    copy = x.clone().requires_grad_()
    step = Step(Sum("sum", "sum", lambda: copy.sum(1), (), ()), [copy], [x], 0.5)
    value = torch.tensor([-2.0, 0.0, 3.0], dtype=torch.float64)
    assert step.stabilized(value).tolist() == [-2.5, 0.5, 3.5]
    assert step.stabilized(value, 1.0).tolist() == [-3.0, 1.0, 4.0]
    assert not step.value.requires_grad


def test_what_a_step_carries_goes_to_the_original() -> None:
    copy, original = x.clone().requires_grad_(), x.clone().requires_grad_()
    step = Step(Sum("sum", "sum", lambda: copy.sum(1), (), ()), [copy], [original], 0.0)
    carried = step.carry(lambda relevance: [relevance.unsqueeze(1) * torch.tensor([1.0, 2.0, 3.0])], copy)
    torch.testing.assert_close(carried.detach(), x.sum(1))
    (found,) = torch.autograd.grad(carried, original, torch.tensor([1.0, 10.0], dtype=torch.float64))
    assert found.tolist() == [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]
