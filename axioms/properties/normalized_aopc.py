"""AOPC between the worst and the best order that there is: (AOPC - lowest) / (highest - lowest).

Normalized AOPC of Edin et al. 2024 ("Normalized AOPC: Fixing Misleading Faithfulness Metrics for Feature Attributions
Explainability"): AOPC, the mean over k = 1..n of f(x) - f(x without the k most relevant), depends on the model's own
bounds, so that models cannot be compared by it. The bounds are exact here, over all orders, by the outputs for all
subsets: up to twelve units. No peer has it.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, divided
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.games import game
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import ranks


@axiom(
    "normalized_aopc",
    metrics={
        "normalized_aopc": Metric("(aopc - lowest) / (highest - lowest) over all orders; higher is better"),
        "aopc": Metric("mean drop of the output below f(x) while the most relevant features go first"),
        "lowest": Metric("the smallest mean drop of any order"),
        "highest": Metric("the largest mean drop of any order"),
    },
)
def normalized_aopc(side: SideView) -> dict[str, Values]:
    """The mean drop in the order of relevance, between the smallest and the largest of any order of features."""
    values = game(side)
    count = side.scores.shape[1]
    drop = values[:, -1:] - values
    order = ranks(-side.scores, np.ones(side.scores.shape, dtype=bool)).argsort()
    left = 2**count - 1 - np.cumsum(1 << order, axis=1)
    aopc = drop[np.arange(len(drop))[:, None], left].mean(axis=1)
    lowest, highest = (sign * _largest_sum(sign * drop, count) / count for sign in (-1, 1))
    share = divided(aopc - lowest, highest - lowest)
    return {
        "normalized_aopc": left_out(share, highest == lowest),
        "aopc": aopc,
        "lowest": lowest,
        "highest": highest,
    }


def _largest_sum(drop: Values, count: int) -> Values:
    """Return the largest sum of drops over the sets that any order leaves, from all features down to none."""
    best = np.full(drop.shape, -np.inf)
    best[:, -1] = 0.0
    for subset in range(2**count - 2, -1, -1):  # supersets come before
        larger = [subset | 1 << feature for feature in range(count) if not subset >> feature & 1]
        best[:, subset] = best[:, larger].max(axis=1) + drop[:, subset]
    return best[:, 0]
