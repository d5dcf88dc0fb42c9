"""Every bit of relevance is accounted for: what reached the features, and what was kept on the way, by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import Metric, axiom
from axioms.core.values import Values, divided
from axioms.properties.views import SideView

if TYPE_CHECKING:
    from axioms.engine.ledger import Ledger

CATEGORIES = ("bias", "position", "epsilon", "softmax", "norm", "gradient")


@axiom(
    "ledger",
    metrics={
        "unexplained": Metric("|output - features - all that was kept| / |output|", rounding=True),
        **{name: Metric(f"share of the output that {name} kept") for name in CATEGORIES},
    },
    expect={"unexplained.max": {"le": 1e-9}},
)
def ledger(side: SideView) -> dict[str, Values]:
    """The ledger of each example by itself, as shares of its output."""
    from axioms.engine.ledger import recording

    inputs, model = side.side.inputs, side.side.model
    rows: list[list[float]] = []
    for start in range(len(inputs)):
        with recording() as kept:
            side.rerun(model, inputs.rows(start, start + 1), side.target.rows(start, start + 1), 1)
        if not kept.entries:
            raise InputError("this method does not propagate relevance, so it has no ledger.")
        rows.append([kept.output, kept.unexplained, *(kept.kept(name) for name in CATEGORIES)])
        side.progress(start + 1, len(inputs))
    table = np.array(rows)
    shares = divided(table[:, 1:], table[:, :1])
    return {"unexplained": np.abs(shares[:, 0]), **{name: shares[:, i + 1] for i, name in enumerate(CATEGORIES)}}


ACCOUNTED = 16
"""Examples whose accounts are shown; the axioms themselves look at all."""


def accounts_of(side: SideView) -> dict[str, Any] | None:
    """Relevance in and out per layer and operation, summed over the first examples; None where nothing propagates."""
    if not _recorded(side, 1).entries:  # one example tells, and leave-one-out of sixteen would take its time
        return None
    n = min(len(side.side.inputs), ACCOUNTED)
    kept = _recorded(side, n)
    rows = [
        {"layer": each.layer, "operation": each.operation, "in": each.came_in, "out": each.went_out, **each.kept}
        for each in kept.accounts()
    ]
    sums = {"output": kept.output, "features": kept.features, "unexplained": kept.unexplained}
    return {"n": n, **sums, "rows": rows}


def _recorded(side: SideView, n: int) -> Ledger:
    from axioms.engine.ledger import recording

    inputs = side.side.inputs
    with recording() as kept:
        side.rerun(side.side.model, inputs.rows(0, n), side.target.rows(0, n), side.side.batch_size)
    return kept
