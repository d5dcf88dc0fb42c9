"""The company an example is computed in must not change its attribution: the whole batch = one example at a time."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.views import GAP, SideView


@axiom(
    "batch_invariance",
    metrics={"relative_gap": Metric(GAP.format(a="batch", b="alone"), rounding=True)},
    expect={"relative_gap.max": {"le": 1e-9}},
)
def batch_invariance(side: SideView) -> dict[str, Values]:
    """The gap between the relevance in a batch and in a batch of one."""
    if min(side.batch_size, len(side.inputs)) < 2:
        raise InputError("batch_invariance needs at least two examples and a run with a batch_size of at least 2.")
    return {"relative_gap": side.gap_to(side.rerun(batch_size=1))}
