"""What bypassing the softmax layer by layer gains in agreement with leave-one-out: Figure 2 and Table A3, LOO r."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.sweeps import KINDS, SweepKind
from axioms.core.values import Values
from axioms.properties.helpers.sweeps import tables
from axioms.properties.helpers.views import SideView
from axioms.properties.loo_correlation import loo_correlation


@axiom(
    "bypass_gain",
    metrics={
        "late_minus_early": Metric("mean single-layer gain in r, second half of the layers minus first half"),
        "total_gain": Metric("r with the softmax bypassed in every layer minus r with it bypassed in none"),
        "none": Metric("r with the softmax bypassed in no layer"),
        "all": Metric("r with the softmax bypassed in every layer"),
        "single": Metric("r with the softmax bypassed in layer k alone", kind="curve"),
        "front_to_back": Metric("r with the softmax bypassed in the first layers up to k", kind="curve"),
        "back_to_front": Metric("r with the softmax bypassed from layer k to the last", kind="curve"),
        "single_gain": Metric("r with the softmax bypassed in layer k alone minus r without", kind="curve"),
    },
)
def bypass_gain(side: SideView, *, sweep: list[SweepKind] = list(KINDS)) -> dict[str, Values]:  # noqa: B006
    """Pearson's r with leave-one-out under every setting, example by example (Section 4.3, RQ3)."""
    r = tables(side, sweep, lambda view: {"r": loo_correlation(view)["pearson"]})["r"]
    return {
        "late_minus_early": r.late_minus_early,
        "total_gain": r.total_gain,
        "none": r.none,
        "all": r.every,
        **r.kinds,
        "single_gain": r.single_gain,
    }
