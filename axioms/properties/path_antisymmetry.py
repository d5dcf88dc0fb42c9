"""The way back undoes the way there: R(x, b) = -R(b, x).

A method with a baseline explains the step from b to x; explaining the step from x to b, it must give the same with the
other sign. Integrated Gradients does, by its formula: both ways pass the same points (Sundararajan et al. 2017, Section
3). Asked of any method by a change of origin, with b = 0: the network g(y) = f(x + y) is explained at y = -x, where
removing a feature puts back what x had.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.errors import NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, relative_gap
from axioms.properties.helpers.views import SideView


@axiom(
    "path_antisymmetry",
    metrics={
        "relative_gap": Metric("max_i |R(x, 0)_i + R(0, x)_i| / max_i max(|R(x, 0)_i|, |R(0, x)_i|)", rounding=True)
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def path_antisymmetry(side: SideView) -> dict[str, Values]:
    """The gap between the relevance of going from zero to x and minus that of going from x to zero."""
    if side.inputs.slot is not None or side.inputs.removal.kind != "zero":
        raise NotDefined("a change of origin is for features that are the model's first argument and removed by zero.")
    return {"relative_gap": relative_gap(side.scores, -_way_back(side))}


def _way_back(side: SideView) -> Values:
    """Return the relevance of g(y) = f(x + y) at y = -x, example by example, because each has its own x."""
    from axioms.model.module import Model
    from axioms.subjects.models.modules.wrapped import Shifted

    rows = []
    for place in range(len(side.inputs)):
        start = side.inputs.rows(place, place + 1)
        model = Model(Shifted(side.model.module, start.features))
        back = side.bench.rerun(model, start.with_features(-start.features), side.target.rows(place, place + 1), 1)
        rows.append(as_numpy(back.scores))
    return np.concatenate(rows)
