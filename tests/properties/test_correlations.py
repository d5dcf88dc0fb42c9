"""Correlations against scipy, row by row, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from axioms.properties.helpers.correlations import (
    constant,
    left_out,
    pearson,
    sign_flipped,
    spearman,
    sum_normalized,
    too_few,
)
from axioms.properties.helpers.units import all_features, units_of
from axioms.verdict.measure import Measurement, aggregated, defined

rng = np.random.default_rng(0)
LEFT, RIGHT = rng.normal(size=(6, 9)), rng.normal(size=(6, 9))


def test_against_scipy() -> None:
    for mine, theirs in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        wanted = [theirs(a, b).statistic for a, b in zip(LEFT, RIGHT, strict=True)]
        np.testing.assert_allclose(mine(LEFT, RIGHT), wanted)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e200])
def test_scale_does_not_matter(scale: float) -> None:
    np.testing.assert_allclose(pearson(LEFT * scale, RIGHT), pearson(LEFT, RIGHT))


def test_a_constant_row_has_no_correlation() -> None:
    assert np.isnan(pearson(np.ones((1, 3)), np.array([[1.0, 2.0, 3.0]]))).all()


def test_normalizing_to_sum_one_flips_exactly_the_signs_that_are_reported() -> None:
    normalized = pearson(sum_normalized(LEFT), sum_normalized(RIGHT))
    flipped = sign_flipped(LEFT, RIGHT).astype(bool)
    assert flipped.any()
    assert not flipped.all()
    np.testing.assert_allclose(normalized, np.where(flipped, -1, 1) * pearson(LEFT, RIGHT))


@st.composite
def ragged(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of rows in which some features are candidates, with anything where they are not."""
    rows, features = draw(st.integers(1, 4)), draw(st.integers(3, 9))
    number = st.integers(-50, 50).map(lambda value: value / 4)
    table = st.lists(number, min_size=rows * features, max_size=rows * features)
    flags = draw(st.lists(st.booleans(), min_size=rows * features, max_size=rows * features))
    left, right = (np.array(draw(table)).reshape(rows, features) for _ in range(2))
    return left, right, np.array(flags).reshape(rows, features)


@given(ragged())
def test_over_masked_rows_it_is_scipy_on_each_compacted_row(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    left, right, candidates = case
    units = units_of(np.where(candidates, candidates.cumsum(axis=1) - 1, -1))
    a, b, counted = units.sums(left), units.sums(right), units.counted
    few, flat = too_few(counted), constant(b, counted)
    with np.errstate(divide="ignore", invalid="ignore"):
        normalized = pearson(sum_normalized(a, counted), sum_normalized(b, counted), counted)
    for row, places in enumerate(candidates):
        x, y = left[row, places], right[row, places]
        np.testing.assert_array_equal(a[row, counted[row]], x)
        assert few[row] == (len(x) < 3)
        if len(x) < 3:
            continue
        assert flat[row] == (np.ptp(y) == 0)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        np.testing.assert_allclose(pearson(a, b, counted)[row], stats.pearsonr(x, y).statistic, atol=1e-9)
        np.testing.assert_allclose(spearman(a, b, counted)[row], stats.spearmanr(x, y).statistic, atol=1e-9)
        if abs(x.sum()) > 0 and abs(y.sum()) > 0:
            wanted = stats.pearsonr(x / x.sum(), y / y.sum()).statistic
            np.testing.assert_allclose(normalized[row], wanted, atol=1e-9)
            assert sign_flipped(a, b, counted)[row] == (x.sum() * y.sum() < 0)


@given(ragged(), st.integers(1, 4))
def test_a_chunk_has_the_sum_of_its_tokens(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
    size: int,
) -> None:
    scores, _, candidates = case
    number = np.where(candidates, (candidates.cumsum(axis=1) - 1) // size, -1)
    sums = units_of(number).sums(scores)
    for row, places in enumerate(candidates):
        counted_scores = scores[row, places]
        wanted = [counted_scores[start : start + size].sum() for start in range(0, len(counted_scores), size)]
        np.testing.assert_allclose(sums[row, : len(wanted)], wanted, atol=1e-12)
        assert units_of(number).counts[row] == len(wanted)


def test_without_candidates_each_feature_is_a_unit() -> None:
    units = all_features((6, 9))
    np.testing.assert_array_equal(units.sums(LEFT), LEFT)
    assert units.counted.all()


class TestLeftOut:
    values = left_out(np.array([0.5, np.nan, 0.1, 0.9]), np.array([False, True, False, False]))

    def test_means_are_over_the_rest_and_name_the_right_example(self) -> None:
        quantity = aggregated(self.values, "mean", confidence=0.95, seed=0)
        assert quantity.value == pytest.approx(0.5)
        assert (quantity.n, quantity.worst) == (3, 2)
        assert aggregated(self.values, "max", confidence=0.95, seed=0).worst == 3
        np.testing.assert_array_equal(defined(self.values), [0, 2, 3])

    def test_what_is_broken_and_not_left_out_stays_broken(self) -> None:
        values = left_out(np.array([0.5, np.nan, np.nan]), np.array([False, True, False]))
        quantity = aggregated(values, "mean", confidence=0.95, seed=0)
        assert not quantity.finite
        assert quantity.worst == 2

    def test_nothing_left_is_not_a_number(self) -> None:
        quantity = aggregated(left_out(np.zeros(2), np.array([True, True])), "mean", confidence=0.95, seed=0)
        assert (quantity.finite, quantity.n) == (False, 0)

    def test_a_difference_leaves_out_what_either_leaves_out(self) -> None:
        other = left_out(np.zeros(4), np.array([False, False, True, False]))
        np.testing.assert_array_equal(defined(self.values - other), [0, 3])

    def test_a_curve_is_the_mean_of_those_that_are_defined(self) -> None:
        table = np.array([[1.0, 2.0], [9.0, 9.0], [3.0, 4.0]])
        rows = np.array([[False] * 2, [True] * 2, [False] * 2])
        quantity = Measurement({"c": left_out(table, rows)}, {"c": "curve"}, 0.95, 0).quantity("c")
        assert (quantity.value, quantity.n) == ([2.0, 3.0], 2)
