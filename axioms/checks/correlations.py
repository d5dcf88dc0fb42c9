"""Correlations of relevance maps, row by row."""

from __future__ import annotations

import numpy as np

from axioms.measure import Values


def pearson(left: Values, right: Values) -> Values:
    """Pearson's r of each row; NaN where a row is constant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        left = left - left.mean(axis=1, keepdims=True)
        right = right - right.mean(axis=1, keepdims=True)
        # Scaled first, so that squares of tiny or huge scores neither vanish nor overflow.
        left = left / np.abs(left).max(axis=1, keepdims=True)
        right = right / np.abs(right).max(axis=1, keepdims=True)
        r = (left * right).sum(axis=1) / np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    return np.clip(r, -1.0, 1.0)


def spearman(left: Values, right: Values) -> Values:
    """Spearman's rank correlation of each row."""
    from scipy.stats import rankdata

    return pearson(rankdata(left, axis=1), rankdata(right, axis=1))


def sum_normalized(scores: Values) -> Values:
    """Each row divided by its sum, as the paper does; this flips the sign of a row whose sum is negative."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return scores / scores.sum(axis=1, keepdims=True)


def sign_flipped(left: Values, right: Values) -> Values:
    """1 where normalizing to sum one flips the sign of r: one of the two sums is negative, and the other is not."""
    return (np.sign(left.sum(axis=1)) * np.sign(right.sum(axis=1)) < 0).astype(np.float64)
