"""Facts are set, given on and forgotten; what depends on the input is told from what does not."""

from __future__ import annotations

import torch

from axioms.engine import facts
from axioms.engine.facts import Facts, Mixture
from axioms.engine.facts.access import has_facts, tensors

KNOWN = Facts(degree=2)


def test_facts_are_set_and_forgotten() -> None:
    x = torch.ones(2)
    assert facts.known_of(x) is facts.PLAIN
    assert not has_facts(x)
    for nothing in (None, facts.PLAIN):
        facts.note(x, KNOWN)
        assert facts.of(x) == KNOWN
        assert has_facts(x)
        facts.note(x, nothing)
        assert facts.of(x) == facts.PLAIN
        assert not has_facts(x)


def test_only_numbers_have_facts() -> None:
    for value in (torch.tensor([1, 2]), torch.tensor([True]), 3, None, "x"):
        facts.note(value, KNOWN)
    whole = torch.tensor([1, 2])
    facts.note(whole, KNOWN)
    assert not has_facts(whole)


def test_facts_are_given_on_with_nothing_else() -> None:
    source, target = torch.ones(2), torch.ones(2)
    facts.note(target, Facts(degree=5))
    assert facts.give(source, target) is target
    assert not has_facts(target)
    facts.note(source, KNOWN)
    facts.give(source, target)
    assert facts.of(target) == KNOWN


def test_variables_are_told_from_constants() -> None:
    leaf, constant = torch.ones(2, requires_grad=True), torch.ones(2)
    varied = facts.vary(constant)
    assert varied is not constant
    assert not has_facts(constant)
    assert [facts.is_variable(value) for value in (leaf, varied, constant, 3, None)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    found = list(facts.variables([constant, [leaf, 3], (varied, [constant])]))
    assert [id(value) for value in found] == [id(leaf), id(varied)]
    assert [id(value) for value in tensors([constant, [leaf], "x"])] == [id(constant), id(leaf)]


def test_a_survey_tells_of_variables_and_of_facts() -> None:
    leaf, constant, known = torch.ones(2, requires_grad=True), torch.ones(2), torch.ones(2)
    facts.note(known, KNOWN)
    varied = facts.vary(constant)
    both = torch.ones(2, requires_grad=True)
    facts.note(both, KNOWN)
    for values, wanted in (
        ([constant, 3, None], (False, False)),
        ([leaf], (True, False)),
        ([known], (False, True)),
        ([varied], (True, True)),
        ([both], (True, True)),
        ([known, leaf], (True, True)),
        ([leaf, known], (True, True)),
        ([[constant, (leaf,)]], (True, False)),
        ([[known], constant], (False, True)),
        ([leaf, [constant]], (True, False)),
        ([known, [constant]], (False, True)),
    ):
        assert facts.survey(values) == wanted


def test_entries_that_are_held() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert facts.held_entries(x) is None
    facts.note(x, KNOWN)
    assert facts.held_entries(x) is None
    held = facts.hold(x, torch.tensor([[True], [False]]))
    assert held is x
    found = facts.held_entries(x)
    assert found is not None
    assert found.tolist() == [[True] * 3, [False] * 3]
    facts.note(x, Mixture(torch.tensor([[1.0, 2.0, 0.0]] * 2), (KNOWN, facts.PLAIN)))
    assert facts.held_entries(x) is None
