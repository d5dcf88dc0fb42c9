"""Rules as they are printed and as they change gradients say the same of each operation."""

from __future__ import annotations

import pytest
import torch

from axioms.core.errors import NotDefined
from axioms.engine import facts
from axioms.engine.explicit_rules import epsilon, explicit_rule
from axioms.engine.operations import Softmax
from axioms.engine.step import Step, sign
from tests.engine.rule_cases import CASES, Case, drawn, relevance

NOT_PRINTED = ("degree", "held", "var", "sigmoid", "act(y)", "as little")
"""Cases of rules without a printed form, or of operations that depend on others."""


@pytest.mark.parametrize("name", [name for name in CASES if not any(part in name for part in NOT_PRINTED)])
def test_printed_rules_agree_with_those_on_gradients(name: str) -> None:
    case = CASES[name]
    leaves, copies = case.leaves(), case.leaves()
    value = case.value(case.operation(leaves))
    gradient = drawn(*value.shape, seed=9)
    wanted = relevance(value, gradient, leaves)
    operation = case.operation(copies)
    originals = case.leaves()
    step = Step(operation, copies, originals, 1e-13, operation.dim if isinstance(operation, Softmax) else None)
    carried = epsilon(step) if case.rule is None else explicit_rule(case.rule)(step, **case.options)
    torch.testing.assert_close(carried, value)
    found = torch.autograd.grad(
        carried, originals, (value * gradient).detach(), allow_unused=True, materialize_grads=True
    )
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-7, atol=1e-9)
    if "heads" in name:
        held = facts.held_entries(carried)
        assert held is not None
        heads = [head for head in range(value.shape[1]) if bool(held[:, head].all())]
        assert heads == [head - 1 for head in case.options["heads"]]


def test_the_sign_of_nothing_is_positive() -> None:
    assert sign(torch.tensor([-2.0, 0.0, 3.0])).tolist() == [-1.0, 1.0, 1.0]
    assert sign(torch.zeros(1, dtype=torch.float64)).dtype == torch.float64


def test_a_rule_without_a_printed_form_says_so() -> None:
    with pytest.raises(NotDefined, match="rule 'degree' has no explicit form"):
        explicit_rule("degree")


@pytest.mark.parametrize("masked", [-torch.inf, -1e4])
def test_a_masked_logit_gets_no_relevance(masked: float) -> None:
    """Whether it is minus infinity or so small that nothing is left of its weight."""
    case = Case(lambda s: s.softmax(-1), (torch.tensor([[0.5, masked, -1.0]], dtype=torch.float64),))
    copies, originals = case.leaves(), case.leaves()
    operation = case.operation(copies)
    assert isinstance(operation, Softmax)
    carried = explicit_rule("taylor")(Step(operation, copies, originals, 1e-13, operation.dim))
    (found,) = torch.autograd.grad(carried, originals, torch.tensor([[2.0, 3.0, 5.0]], dtype=torch.float64))
    assert (found != 0).tolist() == [[True, False, True]]
