"""What contributes nothing gets nothing: R_i = 0 for a feature i that never changes the output.

Two definitions, by name. `by: function` is the Dummy of Friedman 2004, Sensitivity(b) of Sundararajan et al. 2017,
Section 4: the function does not depend on the feature at all, whatever the others are. `by: removal` is the null
player of Shapley 1953: v(S + i) = v(S) for every set S of features, in the game that removes all others; a feature that
already has the value that removal gives it is one. Quantus' NonSensitivity (Nguyen & Martinez 2020) counts features
of which the relevance and what a single removal takes are not small together; where a feature changes nothing and has
relevance both say so (tests/properties/test_peers_axiomatic.py). Of a token behind a mask `padding_invariance` asks the
same.
"""

from __future__ import annotations

from typing import Literal

from axioms.core.entries import Metric
from axioms.core.errors import NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, divided
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.games import game, is_nothing, marginals
from axioms.properties.helpers.probing import ignored_features
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView


@axiom(
    "null_player",
    metrics={
        "on_null": Metric("max over null features i of |R_i| / max over all features of |R_i|", rounding=True),
        "null_features": Metric("how many features contribute nothing; an example without any is left out"),
    },
    expect={"on_null.max": {"le": 1e-9}},
)
def null_player(side: SideView, *, by: Literal["function", "removal"] = "function") -> dict[str, Values]:
    """The largest relevance of a feature that contributes nothing, as a share of the largest of all."""
    null = ignored_features(side) if by == "function" else _null_in_game(side)
    if not null.any():
        raise NotDefined("no feature of any example is without effect, so that there is no null player to look at.")
    size = np.abs(side.scores)
    share = divided(np.where(null, size, 0.0).max(axis=1), size.max(axis=1))
    counts = null.sum(axis=1)
    return {"on_null": left_out(share, counts == 0), "null_features": counts.astype(np.float64)}


def _null_in_game(side: SideView) -> Flags:
    values = game(side)
    players = range(side.scores.shape[1])
    return np.stack([is_nothing(marginals(values, player), values) for player in players], axis=1)
