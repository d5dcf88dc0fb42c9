"""Where relevance went: in, out and kept, per layer and operation, for checks of conservation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from axioms.report.tables import Row, brief, label, markdown

KEPT = ("bias", "position", "epsilon", "softmax", "norm", "gradient")


def accounts_table(account: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """Header and rows; a column for whatever keeps something anywhere."""
    rows = account["rows"]
    columns = [name for name in KEPT if any(row.get(name) for row in rows)]
    table = [
        [
            "outside" if row["layer"] is None else str(row["layer"]),
            row["operation"],
            *(brief(row.get(name) or 0.0) for name in ("in", "out", *columns)),
        ]
        for row in rows
    ]
    kept = [sum(row.get(name) or 0.0 for row in rows) for name in columns]
    table.append(["all", "", brief(account["output"]), brief(account["features"]), *map(brief, kept)])
    return ["layer", "operation", "in", "out", *columns], table


def accounts_markdown(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ledger of every method that has one, each once."""
    lines: list[str] = []
    seen = set()
    for record in records:
        for side, account in record.get("accounts", {}).items():
            name = label(dict(record)) + (f", {side}" if side in ("left", "right") else "")
            if name in seen:
                continue
            seen.add(name)
            lines += [f"### Ledger of {name} (sums over {account['n']} examples)", ""]
            lines += [*markdown(*accounts_table(account)), ""]
            lines += [f"Unexplained: {account['unexplained']:.1g}.", ""]
    return lines
