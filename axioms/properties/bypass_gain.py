"""What bypassing the softmax layer by layer gains in agreement with leave-one-out: Figure 2 and Table A3, LOO r."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.sweeps import KINDS, SweepKind
from axioms.core.values import Values
from axioms.properties.helpers.sweeps import tables
from axioms.properties.helpers.views import SideView
from axioms.properties.loo_correlation import loo_correlation

READINGS = {
    "sum_normalized": "r after dividing each map by its sum, with the softmax bypassed",
    "sign_flipped": "the share of maps whose sign that division flips, with the softmax bypassed",
}
"""What the paper's normalization makes of r: the other reading, and how many maps it turns round."""
BYPASSED = {
    "single": "in layer k alone",
    "front_to_back": "in the first layers up to k",
    "back_to_front": "from layer k to the last",
}


@axiom(
    "bypass_gain",
    metrics={
        "late_minus_early": Metric("mean single-layer gain in r, second half of the layers minus first half"),
        "total_gain": Metric("r with the softmax bypassed in every layer minus r with it bypassed in none"),
        "none": Metric("r with the softmax bypassed in no layer"),
        "all": Metric("r with the softmax bypassed in every layer"),
        **{kind: Metric(f"r with the softmax bypassed {where}", kind="curve") for kind, where in BYPASSED.items()},
        "single_gain": Metric("r with the softmax bypassed in layer k alone minus r without", kind="curve"),
        **{
            f"{kind}_{reading}": Metric(f"{what} {where}", kind="curve")
            for reading, what in READINGS.items()
            for kind, where in BYPASSED.items()
        },
    },
)
def bypass_gain(side: SideView, *, sweep: list[SweepKind] = list(KINDS)) -> dict[str, Values]:  # noqa: B006
    """Pearson's r with leave-one-out under every setting, example by example (Section 4.3, RQ3)."""
    names = {"r": "pearson", "sum_normalized": "pearson_sum_normalized", "sign_flipped": "sign_flipped"}

    def measured(view: SideView) -> dict[str, Values]:
        metrics = loo_correlation(view)
        return {ours: metrics[theirs] for ours, theirs in names.items()}

    swept = tables(side, sweep, measured)
    r = swept["r"]
    return {
        "late_minus_early": r.late_minus_early,
        "total_gain": r.total_gain,
        "none": r.none,
        "all": r.every,
        **r.kinds,
        "single_gain": r.single_gain,
        **{f"{kind}_{reading}": swept[reading].kinds[kind] for reading in READINGS for kind in KINDS},
    }
