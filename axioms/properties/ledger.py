"""All relevance is accounted for: what reached the features, and what each kind of operation absorbed on the way."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, divided
from axioms.properties.helpers.views import SideView

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
    from axioms.engine.handlers.ledger import recording

    rows: list[list[float]] = []
    for start in range(len(side.inputs)):
        with recording() as book:
            side.bench.rerun(side.model, side.inputs.rows(start, start + 1), side.target.rows(start, start + 1), 1)
        if not book.entries:
            raise InputError("this method does not propagate relevance, so it has no ledger.")
        rows.append([book.output, book.unexplained, *(book.absorbed(name) for name in CATEGORIES)])
        side.bench.progress(start + 1, len(side.inputs))
    table = np.array(rows)
    shares = divided(table[:, 1:], table[:, :1])
    return {"unexplained": np.abs(shares[:, 0]), **{name: shares[:, i + 1] for i, name in enumerate(CATEGORIES)}}
