"""Measured numbers: their array types, and quotients and gaps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.core.lazy import np

if TYPE_CHECKING:
    Values = np.ndarray[Any, np.dtype[np.float64]]
    Numbers = np.ndarray[Any, np.dtype[np.int64]]
else:
    Values = Numbers = Any


def as_numpy(tensor: Any) -> Values:
    """A tensor of any device and dtype as float64."""
    array: Values = tensor.detach().cpu().double().numpy()
    return array


def divided(numerator: Values, denominator: Values) -> Values:
    """Quotient with 0 / 0 = 0; anything else over 0 stays infinite and so makes a check inconclusive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((numerator == 0) & (denominator == 0), 0.0, numerator / denominator)


def relative_gap(left: Values, right: Values) -> Values:
    """max_i |a_i - b_i| / max_i max(|a_i|, |b_i|) of each row, of which zeros may follow the end."""
    largest = np.maximum(np.abs(left), np.abs(right)).max(axis=1)
    return divided(np.abs(left - right).max(axis=1), largest)
