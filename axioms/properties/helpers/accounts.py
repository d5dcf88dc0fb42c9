"""Accounts: where relevance went that did not reach the features, per layer and operation."""

from __future__ import annotations

from typing import Any

from axioms.properties.helpers.views import SideView

ACCOUNTED = 16
"""Examples whose accounts are shown; the axioms themselves look at all."""


def accounts_of(side: SideView) -> dict[str, Any] | None:
    """Return relevance in and out per layer and operation, summed over the first examples; None where none flows."""
    from axioms.engine.handlers.ledger import recording

    n = min(len(side.inputs), ACCOUNTED)
    with recording() as book:
        side.bench.rerun(side.model, side.inputs.rows(0, n), side.target.rows(0, n), side.batch_size)
    if not book.entries:
        return None
    rows = [
        {"layer": row.layer, "operation": row.operation, "in": row.came_in, "out": row.went_out, **row.absorbed}
        for row in book.accounts()
    ]
    return {"n": n, "output": book.output, "features": book.features, "unexplained": book.unexplained, "rows": rows}
