"""All subsets of as many players as there may be."""

from __future__ import annotations

import numpy as np
import pytest

from axioms.core.errors import InputError
from axioms.properties.helpers.games import coalitions, is_nothing, marginals


def test_twelve_players_have_all_their_subsets_and_thirteen_are_too_many() -> None:
    assert coalitions(2).tolist() == [[False, False], [True, False], [False, True], [True, True]]
    found = coalitions(12)
    assert found.shape == (4096, 12)
    assert found.dtype == bool
    assert (found @ (1 << np.arange(12))).tolist() == list(range(4096))
    with pytest.raises(InputError, match="all subsets of 13 features are too many; at most 12 can be tried"):
        coalitions(13)


def test_a_player_adds_to_the_subsets_without_it() -> None:
    values = np.array([[0.0, 1.0, 10.0, 100.0], [5.0, 4.0, 3.0, 2.0]])
    assert marginals(values, 0).tolist() == [[1.0, 90.0], [-1.0, -1.0]]
    assert marginals(values, 1).tolist() == [[10.0, 99.0], [-2.0, -2.0]]


def test_a_difference_is_rounding_next_to_the_largest_value_of_its_example() -> None:
    values = np.array([[1.0, -1e6], [1.0, 2.0], [4.0, 0.0]])
    assert is_nothing(np.array([[1e-7, 0.0], [0.0, -1e-7], [-3e-12, 1e-13]]), values).tolist() == [True, False, True]
    assert is_nothing(np.array([[2e-6], [0.0], [5e-12]]), values).tolist() == [False, True, False]
