"""A ledger as a table: where relevance went, per layer and operation."""

from __future__ import annotations

from axioms.record import Account
from axioms.report.text import Table, brief

ABSORBING = ("bias", "position", "epsilon", "softmax", "norm", "gradient")
"""What may absorb relevance on its way, in the order of a ledger's columns."""


def ledger_table(account: Account) -> Table:
    """Return where relevance went, per layer and operation; a column for whatever absorbed something anywhere."""
    columns = [name for name in ABSORBING if any(row.absorbed.get(name) for row in account.rows)]
    rows = [
        [
            "outside" if row.layer is None else str(row.layer),
            row.operation,
            *map(brief, (row.came_in, row.went_out)),
            *(brief(row.absorbed.get(name, 0.0)) for name in columns),
        ]
        for row in account.rows
    ]
    absorbed = (account.absorbed[name] for name in columns)
    rows.append(["all", "", *map(brief, (account.output, account.features, *absorbed))])
    return ["layer", "operation", "in", "out", *columns], rows
