"""Interchangeable features with the same value get the same relevance: R_i = R_j.

Two definitions, by name. `by: function` is that of Sundararajan et al. 2017, Section 4: swapping the two features
changes the function nowhere. It is asked where both have the value of the first of them. `by: removal` is Shapley's
(1953): v(S + i) = v(S + j) for every set S without both, in the game that removes all others from the input as it is.
"""

from __future__ import annotations

from typing import Literal

from axioms.core.entries import Metric
from axioms.core.errors import NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, divided
from axioms.properties.helpers.games import game, is_nothing
from axioms.properties.helpers.probing import interchangeable_features
from axioms.properties.helpers.views import SideView


@axiom(
    "symmetry",
    metrics={
        "relative_gap": Metric("max over interchangeable i, j of |R_i - R_j| / max_k |R_k|", rounding=True),
        "pairs": Metric("how many pairs of features are interchangeable"),
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def symmetry(side: SideView, *, by: Literal["function", "removal"] = "function") -> dict[str, Values]:
    """The largest difference between two interchangeable features, as a share of the largest relevance."""
    gaps, pairs = _by_function(side) if by == "function" else _by_removal(side)
    if not pairs.any():
        raise NotDefined("no two features of the subject are interchangeable, so that there is no symmetry to keep.")
    return {"relative_gap": gaps, "pairs": pairs}


def _by_function(side: SideView) -> tuple[Values, Values]:
    """Return the gap of each example and how many pairs there are; each pair is given equal values first."""
    pairs = interchangeable_features(side)
    gaps = np.zeros(len(side.inputs))
    for first, second in pairs:
        features = side.inputs.features.clone()
        features[:, second] = features[:, first]
        gaps = np.maximum(gaps, _difference(side.rerun(inputs=side.inputs.with_features(features)), first, second))
    return gaps, np.full(len(gaps), float(len(pairs)))


def _by_removal(side: SideView) -> tuple[Values, Values]:
    values = game(side)
    subsets = np.arange(values.shape[1])
    gaps, pairs = np.zeros(len(values)), np.zeros(len(values))
    for second in range(side.scores.shape[1]):
        for first in range(second):
            without = subsets[(subsets >> first & 1 == 0) & (subsets >> second & 1 == 0)]
            difference = values[:, without | 1 << first] - values[:, without | 1 << second]
            is_pair = is_nothing(difference, values)
            gaps = np.where(is_pair, np.maximum(gaps, _difference(side.scores, first, second)), gaps)
            pairs += is_pair
    return gaps, pairs


def _difference(scores: Values, first: int, second: int) -> Values:
    return divided(np.abs(scores[:, first] - scores[:, second]), np.abs(scores).max(axis=1))
