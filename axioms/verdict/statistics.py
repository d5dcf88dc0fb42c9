"""Paired tests of one method against another: p-values, Holm's correction and effect sizes.

The test flips signs: if the differences are symmetric around a reference, each `difference - reference` could as well
have had the other sign. It is exact for symmetric differences of any distribution; a t-test assumes normal ones, and
per-example correlations are bounded and skewed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.spec.bounds import Bound

EXACT_UP_TO = 14
"""Examples up to which all 2^n sign patterns are tried; beyond, `DRAWS` of them are drawn."""
DRAWS = 9999
BATCH = 1000
"""Patterns held in memory at a time."""
DIGITS = 12
"""To which a sum is rounded, as a share of the largest possible one: rounding must not hide a tie."""


@dataclass(frozen=True)
class PairedTest:
    """The test and the effect sizes of a comparison, which stand beside its mean difference and interval."""

    p: float
    """Two-sided, of the mean difference against the end of the bound (the larger one where it has two)."""
    p_holm: float
    """The same after Holm's correction over every comparison of the spec."""
    hypotheses: int
    """The number of those comparisons."""
    d_z: float | None
    """Cohen's d_z: the mean difference in standard deviations of the differences; None where they do not vary."""
    wins: float
    """Share of examples in which `better` is the better one; ties are no wins."""


def claim_p(differences: Values, bound: Bound, *, seed: int) -> float:
    """Return the p-value of the claim that the mean difference is within the bound; 1 where it is not finite."""
    if not np.isfinite(differences).all():
        return 1.0
    return max(sign_flip_p(differences - end, seed=seed) for end in finite_ends(bound))


def finite_ends(bound: Bound) -> list[float]:
    """Return the values that the claim must clear: 0 for `{gt: 0}`; both ends for `approx` and `between`."""
    return [end for end in bound.region()[:2] if math.isfinite(end)]


def sign_flip_p(values: Values, *, seed: int) -> float:
    """Return the two-sided p-value of a mean of zero: the share of sign patterns whose mean is as far from zero.

    A drawn sample counts the observed pattern as one of its draws, so that p is never zero (Phipson & Smyth 2010).
    """
    from scipy.stats import permutation_test

    if len(values) < 2:
        return 1.0  # one example shows nothing
    scale = float(np.abs(values).sum()) or 1.0

    def distance(flipped: Values, axis: int) -> Values:
        return np.round(np.abs(flipped.sum(axis=axis)) / scale, DIGITS)

    test = permutation_test(
        (values,),
        distance,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**EXACT_UP_TO if len(values) <= EXACT_UP_TO else DRAWS,
        batch=BATCH,
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values after Holm's step-down adjustment (1979).

    Rejecting where an adjusted p is at most alpha keeps the family-wise error below alpha.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def cohen_d_z(differences: Values) -> float | None:
    """Return mean over standard deviation of the differences; None where they do not vary, or there is only one."""
    if len(differences) < 2:
        return None
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return mean / deviation if deviation > 1e-12 * max(abs(mean), 1e-300) else None


def win_share(differences: Values, bound: Bound) -> float:
    """Return the share of examples above zero, or below it where the claim is that `better` has smaller values."""
    if len(differences) == 0:
        return 0.0
    smaller = bound.comparator in ("lt", "le")
    return float(((differences < 0) if smaller else (differences > 0)).mean())
