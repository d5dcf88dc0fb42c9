"""Insertion and deletion: how fast a class's probability comes and goes with its features (Petsiuk et al. 2018)."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.areas import on_grid
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import Curve, walks


@axiom(
    "insertion_deletion",
    metrics={
        "difference": Metric("insertion - deletion; higher is better"),
        "insertion": Metric("area under the probability while the most relevant features come first; higher is better"),
        "deletion": Metric("area under the probability while the most relevant features go first; lower is better"),
        "insertion_curve": Metric("probability with 0, 5%, ..., 100% of the features inserted", kind="curve"),
        "deletion_curve": Metric("probability with 0, 5%, ..., 100% of the features deleted", kind="curve"),
    },
)
def insertion_deletion(side: SideView, *, step: int = 1, chunk: int | None = None) -> dict[str, Values]:
    """Areas under the two curves of the class's softmax probability over the share of features (trapezoids).

    Deletion takes the most relevant features out of the input first; insertion brings them into what is left when all
    are removed, so it is the walk that removes the least relevant first, backwards. What takes the place of a feature
    is the subject's `remove`, where the authors blur the image; the class is the target's (of a difference, its first).
    An example without any candidate is left out.
    """
    if side.outputs.shape[1] < 2:
        raise InputError("insertion_deletion needs a model with at least two outputs: it is about a probability.")
    ways = walks(side, step=step, chunk=chunk)
    insertion, deletion = area_under(ways.least_first), area_under(ways.most_first)
    inserted = [(1 - curve.share[::-1], curve.probability[::-1]) for curve in ways.least_first]
    deleted = [(curve.share, curve.probability) for curve in ways.most_first]
    return {
        "difference": left_out(insertion - deletion, ways.empty),
        "insertion": left_out(insertion, ways.empty),
        "deletion": left_out(deletion, ways.empty),
        "insertion_curve": on_grid(inserted, ways.empty),
        "deletion_curve": on_grid(deleted, ways.empty),
    }


def area_under(curves: list[Curve]) -> Values:
    """Return the area under each curve of the probability, by trapezoids."""
    from scipy.integrate import trapezoid

    return np.array([trapezoid(curve.probability, curve.share) for curve in curves])
