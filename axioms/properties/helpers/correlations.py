"""Correlations of relevance maps, row by row, over the places of each row that count."""

from __future__ import annotations

from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.properties.helpers.units import Flags

FEWEST = 3
"""Two points always lie on a line: r of fewer than three says nothing."""


def pearson(left: Values, right: Values, counted: Flags | None = None) -> Values:
    """Return Pearson's r of each row; NaN where a row is constant."""
    counted = _all(left) if counted is None else counted
    with np.errstate(invalid="ignore", divide="ignore"):
        left, right = _centred(left, counted), _centred(right, counted)
        # Scaled first, so that squares of tiny or huge scores neither vanish nor overflow.
        left = left / np.abs(left).max(axis=1, keepdims=True)
        right = right / np.abs(right).max(axis=1, keepdims=True)
        r = (left * right).sum(axis=1) / np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    return np.clip(r, -1.0, 1.0)


def cosine(left: Values, right: Values) -> Values:
    """Return the cosine of each row of one and of the other; NaN where a row is zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        left = left / np.abs(left).max(axis=1, keepdims=True)
        right = right / np.abs(right).max(axis=1, keepdims=True)
        return (left * right).sum(axis=1) / np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))


def spearman(left: Values, right: Values, counted: Flags | None = None) -> Values:
    """Return Spearman's rank correlation of each row."""
    counted = _all(left) if counted is None else counted
    return pearson(_ranks(left, counted), _ranks(right, counted), counted)


def sum_normalized(scores: Values, counted: Flags | None = None) -> Values:
    """Return each row divided by its sum, as the paper does; this flips the sign of a row whose sum is negative."""
    counted = _all(scores) if counted is None else counted
    with np.errstate(invalid="ignore", divide="ignore"):
        return scores / np.where(counted, scores, 0).sum(axis=1, keepdims=True)


def sign_flipped(left: Values, right: Values, counted: Flags | None = None) -> Values:
    """Return 1 where normalizing to sum one flips the sign of r: one of the two sums, and not both, is negative."""
    counted = _all(left) if counted is None else counted
    signs = [np.sign(np.where(counted, scores, 0).sum(axis=1)) for scores in (left, right)]
    return (signs[0] * signs[1] < 0).astype(np.float64)


def too_few(counted: Flags) -> Flags:
    """Tell which rows have too few places for a correlation."""
    return counted.sum(axis=1) < FEWEST


def constant(scores: Values, counted: Flags) -> Flags:
    """Tell in which rows all places that count hold the same number."""
    return np.where(counted, scores, -np.inf).max(axis=1) == np.where(counted, scores, np.inf).min(axis=1)


def left_out(values: Values, rows: Flags) -> Values:
    """Return the values, those of some rows masked: these are left out of means, intervals and comparisons."""
    return np.ma.masked_array(values, rows) if rows.any() else values


def _all(scores: Values) -> Flags:
    return np.ones(scores.shape, dtype=bool)


def _centred(scores: Values, counted: Flags) -> Values:
    """Return each row minus its mean where it counts, 0 elsewhere."""
    mean = np.where(counted, scores, 0.0).sum(axis=1, keepdims=True) / counted.sum(axis=1, keepdims=True)
    return np.where(counted, scores - mean, 0.0)


def _ranks(scores: Values, counted: Flags) -> Values:
    from scipy.stats import rankdata

    ranks = np.zeros(scores.shape)
    for row, places in zip(range(len(scores)), counted, strict=True):
        ranks[row, places] = rankdata(scores[row, places])
    return ranks
