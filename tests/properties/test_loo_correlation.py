"""What the division by the sum does to r, example by example."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import stats

from axioms.properties.helpers.units import units_of
from axioms.properties.loo_correlation import loo_correlation

SCORES = np.array([[1.0, 2.0, 4.0, 0.0], [1.0, 2.0, -9.0, 0.0], [-1.0, -2.0, -4.0, 0.0], [1.0, 2.0, 9.0, 0.0]])
LOO = np.array([[1.0, 3.0, 4.0, 7.0], [1.0, 3.0, 4.0, 7.0], [-1.0, -3.0, -4.0, 7.0], [2.0, 2.0, 2.0, 7.0]])
"""The sums of the second row have opposite signs, those of the third are both negative; the fourth has no r."""


def view() -> Any:
    places = np.array([[0, 1, 2, -1]] * len(SCORES))
    return SimpleNamespace(units=lambda: units_of(places), scores=SCORES, loo=LOO)


def test_the_division_changes_r_only_where_the_sums_have_opposite_signs() -> None:
    measured = loo_correlation(view())
    r = [stats.pearsonr(scores[:3], loo[:3]).statistic for scores, loo in zip(SCORES[:3], LOO[:3], strict=True)]
    np.testing.assert_allclose(measured["division_change"][:3], [0, -2 * r[1], 0], atol=1e-12)
    np.testing.assert_array_equal(measured["sign_flipped"][:3], [0, 1, 0])


def test_an_example_without_r_is_left_out_of_the_change_too() -> None:
    measured = loo_correlation(view())
    assert np.ma.getmaskarray(measured["division_change"]).tolist() == [False, False, False, True]
