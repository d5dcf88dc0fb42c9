"""Every bit of relevance is accounted for: what reached the features, and what was kept on the way, by whom."""

from __future__ import annotations

from axioms.checks.views import SideView, divided
from axioms.errors import InputError
from axioms.lazy import np
from axioms.measure import Values
from axioms.registry import Metric, axiom

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
    from axioms.propagate.ledger import recording

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
