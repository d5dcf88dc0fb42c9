"""What a rule keeps back, in closed form, is what arrives at an operation and does not leave it."""

from __future__ import annotations

import pytest
import torch

from axioms.engine.closed_forms import absorbed_by
from axioms.engine.operations import Product
from tests.engine.rule_cases import CASES, drawn, relevance


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_is_what_does_not_arrive(name: str) -> None:
    case = CASES[name]
    leaves = case.leaves()
    operation = case.operation(leaves)
    value = case.value(operation)
    coefficients = absorbed_by(operation, value, case.reference)
    gradient = drawn(*value.shape, seed=9)
    if isinstance(operation, Product) and name == "held heads, uniform":  # the softmax's own rule keeps some as well
        parts = _at_factors(value, gradient, operation.factors)
    else:
        parts = relevance(value, gradient, leaves)
    arrived = float(torch.stack([part.sum() for part in parts]).sum())
    kept = {what: float((coefficient * gradient).sum()) for what, coefficient in coefficients.items()}
    assert float((value.detach() * gradient).sum()) - arrived == pytest.approx(sum(kept.values()), rel=1e-9, abs=1e-9)
    assert {what for what, number in kept.items() if abs(number) > 1e-9} == case.kept
    assert not any(coefficient.requires_grad for coefficient in coefficients.values())


def _at_factors(value: torch.Tensor, gradient: torch.Tensor, factors: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    from axioms.engine import facts

    weights, values = relevance(value, gradient, factors)
    held = facts.held_entries(factors[0])
    assert held is not None
    assert not bool(weights[held].any())  # nothing goes to what is held constant
    return [weights, values]
