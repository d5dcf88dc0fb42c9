"""What bypassing the softmax layer by layer does to the perturbation curves: Figure 2 and Table A3, LeRF, MoRF, delta.

Every setting needs two curves, each of as many forward passes as there are steps. Most settings rank most tokens alike,
so that the answers of the model under one setting serve the others.
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.sweeps import KINDS, SweepKind
from axioms.core.values import Values
from axioms.properties.bypass_gain import BYPASSED
from axioms.properties.helpers.areas import areas
from axioms.properties.helpers.sweeps import tables
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import Answers, related_walks

AREAS = ("delta", "lerf", "morf")


@axiom(
    "bypass_perturbation",
    metrics={
        "late_minus_early": Metric("mean single-layer gain in delta, second half of the layers minus first half"),
        "total_gain": Metric("delta with the softmax bypassed in every layer minus delta with it bypassed in none"),
        "none": Metric("delta with the softmax bypassed in no layer"),
        "all": Metric("delta with the softmax bypassed in every layer"),
        **{
            f"{kind}_{area}": Metric(f"{area} with the softmax bypassed {where}", kind="curve")
            for area in AREAS
            for kind, where in BYPASSED.items()
        },
    },
)
def bypass_perturbation(
    side: SideView,
    *,
    step: int = 1,
    chunk: int | None = None,
    sweep: list[SweepKind] = list(KINDS),  # noqa: B006
) -> dict[str, Values]:
    """The areas of `perturbation` under every setting, example by example (Section 4.3, RQ3)."""

    answers: Answers = {}

    def measured(view: SideView) -> dict[str, Values]:
        by_name = areas(related_walks(view, step=step, chunk=chunk, answers=answers))
        return {area: by_name[area] for area in AREAS}

    swept = tables(side, sweep, measured)
    delta = swept["delta"]
    return {
        "late_minus_early": delta.late_minus_early,
        "total_gain": delta.total_gain,
        "none": delta.none,
        "all": delta.every,
        **{f"{kind}_{area}": swept[area].kinds[kind] for area in AREAS for kind in KINDS},
    }
