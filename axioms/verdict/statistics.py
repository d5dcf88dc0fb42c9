"""Paired tests of one method against another: p-values, Holm's correction and effect sizes.

The test flips signs: if a mean difference of `reference` is all there is, each example's `difference - reference` could
as well have had the other sign. It is exact for such symmetric differences of any distribution, which per-example
correlations (bounded, skewed, far from normal) need and a t-test does not give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.spec.bounds import Bound

EXACT_UP_TO = 14
"""Examples up to which all 2^n sign patterns are tried; beyond, `DRAWS` of them are drawn."""
DRAWS = 9999
CHUNK = 2_000_000


@dataclass(frozen=True)
class PairedTest:
    """What a comparison shows beside its mean difference and interval."""

    p: float
    """Two-sided, of the mean difference against the end of the bound (the larger one where it has two)."""
    p_holm: float
    """The same after Holm's correction over every comparison of the spec."""
    hypotheses: int
    """How many that is."""
    d_z: float | None
    """Cohen's d_z: the mean difference in standard deviations of the differences; None where they do not vary."""
    wins: float
    """Share of examples in which `better` is the better one; ties are no wins."""


def claim_p(differences: Values, bound: Bound, *, seed: int) -> float:
    """The p-value of the claim that the mean difference is within the bound; 1 where that is not finite."""
    if len(differences) == 0 or not np.isfinite(differences).all():
        return 1.0
    return max(sign_flip_p(differences - end, seed=seed) for end in finite_ends(bound))


def finite_ends(bound: Bound) -> list[float]:
    """The values that the claim must clear: 0 for `{gt: 0}`; both ends for `approx` and `between`."""
    return [end for end in bound.region()[:2] if math.isfinite(end)]


def sign_flip_p(values: Values, *, seed: int) -> float:
    """Two-sided p-value of a mean of zero: the share of sign patterns whose mean is at least as far from zero.

    A drawn sample counts the observed pattern as one of its draws, so that p is never zero (Phipson & Smyth 2010).
    """
    observed = abs(float(values.sum())) - 1e-12 * float(np.abs(values).sum())  # rounding must not hide a tie
    if len(values) <= EXACT_UP_TO:
        patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float((np.abs(_sums(patterns, values)) >= observed).mean())
    extreme = sum(int((np.abs(_sums(drawn, values)) >= observed).sum()) for drawn in _draws(len(values), seed))
    return (extreme + 1) / (DRAWS + 1)


def _sums(patterns: np.ndarray, values: Values) -> Values:
    """Sums with the sign turned wherever a pattern is zero."""
    return 2 * (patterns.astype(np.float64) @ values) - values.sum()


def _draws(n: int, seed: int) -> Iterator[np.ndarray]:
    """`DRAWS` random patterns, a chunk at a time."""
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK // n)
    for start in range(0, DRAWS, rows):
        yield rng.integers(0, 2, size=(min(rows, DRAWS - start), n), dtype=np.int8)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979): rejecting adjusted p <= alpha keeps the family-wise error below alpha."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda each: p_values[each])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def cohen_d_z(differences: Values) -> float | None:
    """Mean over standard deviation of the differences; None where they do not vary, or there is only one."""
    if len(differences) < 2:
        return None
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return mean / deviation if deviation > 1e-12 * max(abs(mean), 1e-300) else None


def win_share(differences: Values, bound: Bound) -> float:
    """Share of examples above zero, or below it where the claim is that `better` has the smaller values."""
    if len(differences) == 0:
        return 0.0
    smaller = bound.comparator in ("lt", "le")
    return float(((differences < 0) if smaller else (differences > 0)).mean())
