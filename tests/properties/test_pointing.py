"""The metrics of the agreement benchmark against plain loops over every order of tied scores."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.core.values import Values
from axioms.properties.helpers import pointing as metrics
from axioms.properties.helpers.units import Flags

Row = tuple[list[float], list[bool], list[bool]]


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Up to six scores, many of them equal or zero; some features are no candidates; some candidates are the truth."""
    n = draw(st.integers(2, 6))
    level = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0]) | st.floats(-1, 1)
    scores = draw(st.lists(level, min_size=n, max_size=n))
    if draw(st.booleans()):
        scores = [-abs(score) for score in scores]
    candidates = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    truth = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    place = draw(st.integers(0, n - 1))
    candidates[place] = truth[place] = True
    return scores, candidates, truth


def arrays(row: Row) -> tuple[Values, Flags, Flags]:
    scores, candidates, truth = row
    return np.array([scores]), np.array([candidates]), np.array([truth])


def orders(row: Row) -> Iterator[list[bool]]:
    """Whether each place holds truth, best first, in every order that the scores allow."""
    scores, candidates, truth = row
    competing = [(score, inside) for score, counts, inside in zip(scores, candidates, truth, strict=True) if counts]
    for order in permutations(competing):
        if all(left[0] >= right[0] for left, right in pairwise(order)):
            yield [inside for _, inside in order]


@given(rows(), st.integers(1, 4))
def test_pointing_game(row: Row, k: int) -> None:
    hits = [Fraction(any(order[:k])) for order in orders(row)]
    assert metrics.pointing_game(*arrays(row), k)[0] == pytest.approx(float(sum(hits) / len(hits)), abs=1e-12)


@given(rows())
def test_reciprocal_rank(row: Row) -> None:
    ranks = [Fraction(1, order.index(True) + 1) for order in orders(row)]
    assert metrics.reciprocal_rank(*arrays(row))[0] == pytest.approx(float(sum(ranks) / len(ranks)), abs=1e-12)


@given(rows())
def test_relevance_mass(row: Row) -> None:
    inside = total = 0.0
    for score, counts, true in zip(*row, strict=True):
        if counts and score > 0:
            total += score
            inside += score if true else 0
    wanted = inside / total if total else 0.0
    assert metrics.relevance_mass(*arrays(row))[0] == pytest.approx(wanted, abs=1e-12)


@given(rows())
def test_per_token_accuracy(row: Row) -> None:
    right = [(score > 0) is true for score, counts, true in zip(*row, strict=True) if counts]
    assert metrics.per_token_accuracy(*arrays(row))[0] == pytest.approx(sum(right) / len(right), abs=1e-12)


def test_relevance_that_is_nowhere_positive_has_no_mass() -> None:
    row = ([-1.0, -2.0, 0.0], [True] * 3, [True, False, False])
    assert metrics.relevance_mass(*arrays(row))[0] == 0
    assert metrics.per_token_accuracy(*arrays(row))[0] == pytest.approx(2 / 3)


def test_equal_scores_share_their_ranks() -> None:
    """One of four equals: mean of 1, 1/2, 1/3, 1/4, and in the first two in half of the orders."""
    row = ([0.0] * 4, [True] * 4, [False, False, True, False])
    assert metrics.reciprocal_rank(*arrays(row))[0] == pytest.approx(25 / 48)
    assert metrics.pointing_game(*arrays(row), 2)[0] == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "g"), [(2, 1), (5, 1), (5, 2), (6, 3)])
def test_expectations_are_means_over_every_order(n: int, g: int) -> None:
    orders = [[place < g for place in order] for order in permutations(range(n))]
    candidates, truth = np.ones((1, n), dtype=bool), np.array([[place < g for place in range(n)]])
    mrr = sum(Fraction(1, order.index(True) + 1) for order in orders) / len(orders)
    pg = sum(Fraction(any(order[:2])) for order in orders) / len(orders)
    assert metrics.expected_reciprocal_rank(candidates, truth)[0] == pytest.approx(float(mrr), abs=1e-12)
    assert metrics.expected_pointing_game(candidates, truth, 2)[0] == pytest.approx(float(pg), abs=1e-12)


def test_noise_meets_the_expectations() -> None:
    draw = np.random.default_rng(0)
    scores = draw.uniform(-1, 1, (40_000, 7))
    candidates = np.tile([True, True, True, True, True, False, False], (len(scores), 1))
    truth = np.tile([False, True, True, False, False, False, False], (len(scores), 1))
    given = scores, candidates, truth
    for measured, expected in (
        (metrics.pointing_game(*given, 2), metrics.expected_pointing_game(candidates, truth, 2)),
        (metrics.reciprocal_rank(*given), metrics.expected_reciprocal_rank(candidates, truth)),
        (metrics.relevance_mass(*given), metrics.expected_relevance_mass(candidates, truth)),
        (metrics.per_token_accuracy(*given), metrics.expected_per_token_accuracy(candidates, truth)),
    ):
        assert measured.mean() == pytest.approx(expected[0], abs=4 * measured.std() / len(scores) ** 0.5)
