"""How well relevance points at the ground truth: PG-k, MRR, RMA and PTA (Arras et al. 2025, Section 3.3).

Each takes scores, candidates and truth as examples x features; only candidates count. A rank among equal scores is the
mean over every order of them, so that no score depends on how a sort breaks ties. Beside each stands its expectation
for scores that know nothing: independent, symmetric around zero, without ties.
"""

from __future__ import annotations

from math import comb

from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.properties.helpers.units import Flags


def pointing_game(scores: Values, candidates: Flags, truth: Flags, k: int) -> Values:
    """Return PG-k: whether one of the k highest scores is inside the truth."""
    return np.array([_hit(*_ties(*row), k) for row in zip(scores, candidates, truth, strict=True)])


def reciprocal_rank(scores: Values, candidates: Flags, truth: Flags) -> Values:
    """Return the MRR of each example: one over the best rank inside the truth."""
    return np.array([_reciprocal(*_ties(*row)) for row in zip(scores, candidates, truth, strict=True)])


def relevance_mass(scores: Values, candidates: Flags, truth: Flags) -> Values:
    """Return RMA: the share of positive relevance that is inside the truth; 0 where nothing is positive."""
    positive = np.where(candidates, np.clip(scores, 0, None), 0)
    total = positive.sum(axis=1)
    return np.divide((positive * truth).sum(axis=1), total, out=np.zeros(len(scores)), where=total > 0)


def per_token_accuracy(scores: Values, candidates: Flags, truth: Flags) -> Values:
    """Return PTA: the share of candidates that are positive if inside the truth, and not positive if outside."""
    right = ((scores > 0) == truth) & candidates
    return right.sum(axis=1) / candidates.sum(axis=1)


def expected_pointing_game(candidates: Flags, truth: Flags, k: int) -> Values:
    """Return 1 - C(n - g, k) / C(n, k) with g of n candidates in the truth."""
    return np.array([_hit(0, n, g, k) for n, g in _sizes(candidates, truth)])


def expected_reciprocal_rank(candidates: Flags, truth: Flags) -> Values:
    """Return sum_r C(n - r, g - 1) / C(n, g) / r."""
    return np.array([_reciprocal(0, n, g) for n, g in _sizes(candidates, truth)])


def expected_relevance_mass(candidates: Flags, truth: Flags) -> Values:
    """Return (g / n) (1 - 2^-n): g / n by symmetry, wherever anything is positive."""
    return np.array([g / n * (1 - 0.5**n) for n, g in _sizes(candidates, truth)])


def expected_per_token_accuracy(candidates: Flags, truth: Flags) -> Values:
    """Return 1/2."""
    return np.full(len(candidates), 0.5)


def _ties(scores: Values, candidates: Flags, truth: Flags) -> tuple[int, int, int]:
    """Return how many candidates lie above the best of the truth, level with it, and level and inside the truth."""
    inside = candidates & truth
    best = scores[inside].max()
    level = candidates & (scores == best)
    return int((candidates & (scores > best)).sum()), int(level.sum()), int((level & inside).sum())


def _hit(above: int, level: int, inside: int, k: int) -> float:
    """Return the chance that one of `inside` among `level` equals is within the first k, after `above` others."""
    places = min(max(k - above, 0), level)
    return 1 - comb(level - inside, places) / comb(level, places)


def _reciprocal(above: int, level: int, inside: int) -> float:
    """Return the mean of one over the rank of the first of `inside` among `level` equals, after `above` others."""
    ways = comb(level, inside)
    return sum(comb(level - r, inside - 1) / ways / (above + r) for r in range(1, level - inside + 2))


def _sizes(candidates: Flags, truth: Flags) -> list[tuple[int, int]]:
    """Return for each example how many candidates it has, and how many of them are in the truth."""
    return list(zip(candidates.sum(axis=1).tolist(), (candidates & truth).sum(axis=1).tolist(), strict=True))
