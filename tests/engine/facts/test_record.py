"""What is known of several values together."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from axioms.engine.facts.record import PLAIN, Facts, Mixture, Origin, combine, simplify

SCORES = Origin("attention", True)
EVERYWHERE = ("is_activated", "is_weights", "is_held", "normalizes")
"""What holds for a sum only if it holds for each term."""
SOMEWHERE = ("varies", "is_scores")
"""What holds for a sum as soon as it holds for one term."""


@pytest.mark.parametrize("name", EVERYWHERE + SOMEWHERE)
def test_a_flag_of_a_sum(name: str) -> None:
    flag: Any = {name: True}
    has, lacks = Facts(**flag), PLAIN
    assert getattr(combine([has, has]), name)
    assert not getattr(combine([lacks, lacks]), name)
    for mixed in ([has, lacks], [lacks, has]):
        assert getattr(combine(mixed), name) == (name in SOMEWHERE)


def test_the_degree_of_a_sum_is_the_largest() -> None:
    assert combine([Facts(degree=2), Facts(degree=3), PLAIN]).degree == 3


def test_a_sum_depends_on_softmaxes_alone_if_each_term_does() -> None:
    first, second = Facts(softmaxes=frozenset((1,))), Facts(softmaxes=frozenset((2, 3)))
    assert combine([first, second]).softmaxes == {1, 2, 3}
    assert combine([first, PLAIN]).softmaxes == frozenset()


def test_the_origin_of_a_sum_is_its_first_terms_that_has_one() -> None:
    other = Origin("mlp", False)
    assert combine([PLAIN, Facts(origin=SCORES), Facts(origin=other)]).origin == SCORES
    assert combine([PLAIN, PLAIN]).origin is None


def test_of_one_value_all_is_kept() -> None:
    every: dict[str, Any] = dict.fromkeys(EVERYWHERE + SOMEWHERE, True)
    known = Facts(**every, degree=4, softmaxes=frozenset((2,)), origin=SCORES)
    assert combine([known]) is known


def test_codes_that_agree_are_no_mixture() -> None:
    table = (Facts(degree=2), Facts(degree=3))
    assert simplify(torch.tensor([1.0, 1.0]), table) is table[0]
    assert simplify(torch.tensor([2.0, 0.0]), table) is table[1]  # of a constant nothing is said
    assert simplify(torch.tensor([0.0, 1.0]), table) is table[0]
    assert simplify(torch.tensor([0.0, 0.0]), table) is table[0]
    assert simplify(torch.tensor([7.0, -3.0, 2.0]), table) is table[1]  # padding may be filled with anything
    mixed = simplify(torch.tensor([1.0, 2.0, 9.0]), table)
    assert isinstance(mixed, Mixture)
    assert mixed.codes.tolist() == [1, 2, 0]
    assert mixed.table is table
