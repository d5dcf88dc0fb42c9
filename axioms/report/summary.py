"""summary.md: a run on one page; and the tables that end a run in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.record import Account, CheckRecord, Drift, RunRecord
from axioms.report.rewrites import applicability, cells_of, in_one_line, matrix_markdown
from axioms.report.tables import (
    CLAIMED,
    axiom_labels,
    beside_paper,
    cell,
    comparisons,
    label,
    matrix,
    nonexistent,
    numbers,
)
from axioms.report.text import Table, aligned, brief, markdown, within

ABSORBING = ("bias", "position", "epsilon", "softmax", "norm", "gradient")
"""What may keep relevance on its way, in the order of a ledger's columns."""


def summary_markdown(run: RunRecord) -> str:
    """The verdict in one line, the matrix, then each spec with its numbers."""
    passed = len(run.checks) - len(run.failed)
    count = f"{passed} of {len(run.checks)} checks pass, {len(run.skipped)} skipped"
    packages = ", ".join(f"{name} {version}" for name, version in run.environment.packages.items() if version)
    lines = ["# Axioms", "", f"**{count}.** Run {run.run.status}.", "", *_baseline(run.baseline)]
    if run.checks:
        lines += [*markdown(*matrix(run.checks)), "", "`VIOLATED*`: violated, as the spec claims.", ""]
    for part, checks in run.by_part.items():
        lines += _section(part, checks)
    about = "Each was tried, and refused. Everything else in these specs was measured."
    lines += _titled("Combinations that do not exist", about, nonexistent(run.checks))
    about = "Where a rewrite applies, the largest forward gap in float64; else why it does not."
    lines += _titled("Rewrites", about, applicability(run.checks, run.skipped))
    commit = run.run.git_commit or "unknown"
    return "\n".join([*lines, "", f"Commit {commit}; Python {run.environment.python}; {packages}.", ""])


def closing_lines(checks: Sequence[CheckRecord], width: int) -> list[str]:
    """The matrix, the numbers beside the paper's and the comparisons, for a terminal of that width."""
    header, rows = matrix(checks)
    lines = within(width, header, rows)
    if any(CLAIMED in row for row in rows):
        lines.append("* violated, as its spec claims")
    for part in dict.fromkeys(check.part for check in checks):
        here = [check for check in checks if check.part == part]
        for header, rows in (beside_paper(here), comparisons(here)):
            if rows:
                lines += ["", part, *(f"  {line}" for line in aligned(header, rows))]
    cells = cells_of(checks)
    for part in dict.fromkeys(place.model for place in cells):
        lines += ["", f"{part}: {in_one_line([place for place in cells if place.model == part])}"]
    return lines


def _titled(title: str, about: str, table: Table) -> list[str]:
    """A section with a table, or nothing where the table has no rows."""
    return [f"## {title}", "", about, "", *markdown(*table), ""] if table[1] else []


def _baseline(drift: Drift | None) -> list[str]:
    """What changed from the last accepted run, where the run was compared with one."""
    if drift is None:
        return []
    lines = ["## Baseline", "", " ".join(drift.said), ""]
    return [*lines, *markdown(drift.header, drift.rows), ""] if drift.rows else lines


def _section(part: str, checks: Sequence[CheckRecord]) -> list[str]:
    first = checks[0]
    setting = f"{first.run.dtype}, seed {first.run.seed}"
    lines = [f"## {part}", "", first.claim + (f" ({first.source})" if first.source else ""), ""]
    lines += [f"Note: {first.note}", ""] if first.note else []
    if any(check.rewrite for check in checks):
        return [*lines, *matrix_markdown(checks)]
    rows = []
    for axiom, check in zip(axiom_labels(checks), checks, strict=True):
        decided = "; ".join(f"{bound.metric} {bound.bound}" for bound in check.bounds) or check.reason
        rows.append([str(check.place.line), axiom, label(check), cell(check), decided])
    lines += [*markdown(["line", "axiom", "method", "verdict", "decided by"], rows), ""]
    header, compared = comparisons(checks)
    if compared:
        count = max(test.hypotheses for check in checks for test in check.paired.values())
        lines += [f"### Comparisons (Holm's correction over {count})", "", *markdown(header, compared), ""]
    single = [check for check in checks if check.metrics and not check.paired]
    labels = axiom_labels(single)
    for axiom in dict.fromkeys(labels):
        here = [check for name, check in zip(labels, single, strict=True) if name == axiom]
        n = max(quantity.n for check in here for quantity in check.metrics.values())
        lines += [f"### {axiom} (n = {n}, {setting})", "", *markdown(*numbers(here)), ""]
    return [*lines, *_ledgers(checks)]


def _ledgers(checks: Sequence[CheckRecord]) -> list[str]:
    """The ledger of every method that has one, each once."""
    accounts: dict[str, Account] = {}
    for check in checks:
        for side, account in check.accounts.items():
            accounts.setdefault(label(check) + (f", {side}" if side in ("left", "right") else ""), account)
    lines: list[str] = []
    for name, account in accounts.items():
        lines += [f"### Ledger of {name} (sums over {account.n} examples)", ""]
        lines += [*markdown(*ledger_table(account)), "", f"Unexplained: {account.unexplained:.1g}.", ""]
    return lines


def ledger_table(account: Account) -> Table:
    """Where relevance went, per layer and operation; a column for whatever absorbed something anywhere."""
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
