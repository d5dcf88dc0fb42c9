"""Correlations row by row against plain loops over the places that count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from axioms.properties.helpers.correlations import (
    constant,
    cosine,
    left_out,
    pearson,
    sign_flipped,
    spearman,
    sum_normalized,
    too_few,
)

rng = np.random.default_rng(1)
SCALES = np.array([[1.0], [1e3], [1e-3], [7.0]])
LEFT, RIGHT = rng.normal(size=(4, 7)) * SCALES, rng.normal(size=(4, 7)).round(1) / SCALES
COUNTED = np.arange(7) < np.array([[7], [4], [5], [3]])


def rows() -> list[tuple[np.ndarray, np.ndarray]]:
    return [(a[there], b[there]) for a, b, there in zip(LEFT, RIGHT, COUNTED, strict=True)]


@pytest.mark.parametrize("garbage", [0.0, 99.0, np.nan])
def test_only_what_counts_is_correlated(garbage: float) -> None:
    left, right = np.where(COUNTED, LEFT, garbage), np.where(COUNTED, RIGHT, -garbage)
    np.testing.assert_allclose(pearson(left, right, COUNTED), [stats.pearsonr(a, b).statistic for a, b in rows()])
    np.testing.assert_allclose(spearman(left, right, COUNTED), [stats.spearmanr(a, b).statistic for a, b in rows()])


def test_rows_of_any_size_stand_beside_each_other() -> None:
    sizes = np.array([[1e-200], [1e200], [1.0], [1e-30]])
    wanted = pearson(LEFT, RIGHT)
    for left, right in ((LEFT * sizes, RIGHT), (LEFT, RIGHT * sizes), (LEFT * sizes, RIGHT / sizes)):
        np.testing.assert_allclose(pearson(left, right), wanted)
        np.testing.assert_allclose(cosine(left, right), cosine(LEFT, RIGHT))


def test_all_places_count_unless_some_do_not() -> None:
    wanted = [stats.pearsonr(a, b).statistic for a, b in zip(LEFT, RIGHT, strict=True)]
    np.testing.assert_allclose(pearson(LEFT, RIGHT), wanted)
    ranked = [stats.spearmanr(a, b).statistic for a, b in zip(LEFT, RIGHT, strict=True)]
    np.testing.assert_allclose(spearman(LEFT, RIGHT), ranked)


def test_a_perfect_correlation_is_one_and_no_more() -> None:
    assert pearson(LEFT, 3 * LEFT).max() <= 1.0
    assert pearson(LEFT, -LEFT).min() >= -1.0
    np.testing.assert_allclose(pearson(LEFT, 3 * LEFT), 1.0)


def test_the_cosine_of_rows() -> None:
    wanted = [a @ b / np.sqrt(a @ a) / np.sqrt(b @ b) for a, b in zip(LEFT, RIGHT, strict=True)]
    np.testing.assert_allclose(cosine(LEFT, RIGHT), wanted)
    np.testing.assert_allclose(cosine(LEFT * 1e-200, RIGHT * 1e200), wanted)
    assert np.isnan(cosine(np.zeros((1, 3)), np.ones((1, 3)))).all()


def test_rows_over_their_sums() -> None:
    np.testing.assert_allclose(
        sum_normalized(LEFT, COUNTED), [row / row[there].sum() for row, there in zip(LEFT, COUNTED, strict=True)]
    )
    np.testing.assert_allclose(sum_normalized(LEFT).sum(axis=1), 1.0)


def test_signs_flip_where_one_sum_is_negative() -> None:
    left = np.array([[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0], [1.0, -1.0], [1.0, -9.0]])
    right = np.array([[3.0, 1.0], [-3.0, 1.0], [-3.0, 1.0], [-1.0, 0.0], [-1.0, 9.0]])
    assert sign_flipped(left, right).tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]  # a sum of zero has no sign
    first = np.array([[True, False]] * 5)
    assert sign_flipped(left, right, first).tolist() == [0.0, 1.0, 0.0, 1.0, 1.0]


def test_what_has_no_correlation() -> None:
    assert too_few(COUNTED).tolist() == [False, False, False, False]
    assert too_few(np.array([[True, True, False], [True, True, True]])).tolist() == [True, False]
    scores = np.array([[1.0, 1.0, 2.0], [1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    assert constant(scores, np.ones((3, 3), dtype=bool)).tolist() == [False, False, True]
    assert constant(scores, np.array([[True, True, False]] * 3)).tolist() == [True, False, True]


def test_rows_are_left_out_by_a_mask() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert left_out(values, np.array([False] * 3)) is values
    masked = left_out(values, np.array([False, True, False]))
    assert np.ma.getmaskarray(masked).tolist() == [False, True, False]
    assert masked.mean() == 2.0
