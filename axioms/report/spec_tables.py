"""The long tables beside summary.md: a file for each spec, one for what does not exist, and one for rewrites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from axioms.record import Account, CheckRecord, RunRecord
from axioms.report.drawing import as_file_name, file_stem
from axioms.report.ledgers import ledger_table
from axioms.report.rewrites import applicability, matrix_markdown
from axioms.report.tables import axiom_labels, cell, comparisons, label, nonexistent, numbers
from axioms.report.text import Table, as_markdown, markdown

FOLDER = "specs"
NONEXISTENT, REWRITES, BASELINE = "not-defined.md", "rewrites.md", "baseline.md"


def file_of(spec: str) -> str:
    """Return the name of the file about a spec, below the folder of tables."""
    folders = [part for part in Path(spec).parts[:-1] if part != FOLDER]
    return f"{FOLDER}/{as_file_name('-'.join([*folders, file_stem(spec)]))}.md"


def write_spec_tables(run: RunRecord, folder: Path) -> list[Path]:
    """Write the long tables into the folder; remove those that an earlier run left."""
    texts = {file_of(spec): spec_markdown(checks) for spec, checks in _by_spec(run.checks).items()}
    about = "Each was tried, and refused. Everything else in these specs was measured."
    texts |= _titled(NONEXISTENT, "Combinations that do not exist", about, nonexistent(run.checks))
    about = "Where a rewrite applies, the largest forward gap in float64; else why it does not."
    texts |= _titled(REWRITES, "Rewrites", about, applicability(run.checks, run.skipped))
    if run.baseline is not None:
        said = as_markdown(" ".join(run.baseline.said))
        texts |= _titled(BASELINE, "Baseline", said, (run.baseline.header, run.baseline.rows))
    for old in (folder / FOLDER).glob("*.md"):
        old.unlink()
    written = []
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        written.append(file)
    return written


def _by_spec(checks: Iterable[CheckRecord]) -> dict[str, list[CheckRecord]]:
    by_spec: dict[str, list[CheckRecord]] = {}
    for check in checks:
        by_spec.setdefault(check.spec, []).append(check)
    return by_spec


def _titled(name: str, title: str, about: str, table: Table) -> dict[str, str]:
    """Return a file with a table, or nothing where the table has no rows."""
    return {name: "\n".join([f"# {title}", "", about, "", *markdown(*table), ""])} if table[1] else {}


def spec_markdown(checks: Sequence[CheckRecord]) -> str:
    """Return everything that was measured of a spec, subject by subject."""
    lines: list[str] = []
    for part in dict.fromkeys(check.part for check in checks):
        lines += part_lines(part, [check for check in checks if check.part == part])
    return "\n".join(lines)


def part_lines(part: str, checks: Sequence[CheckRecord]) -> list[str]:
    """Return the lines about a spec, or about one of its subjects."""
    first = checks[0]
    claim = first.claim + (f" ({first.source})" if first.source else "")
    lines = [f"# {as_markdown(part)}", "", as_markdown(claim), ""]
    lines += [as_markdown(f"Note: {first.note}"), ""] if first.note else []
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
        lines += [f"## Comparisons (Holm's correction over {count})", "", *markdown(header, compared), ""]
    return [*lines, *_numbers(checks), *_ledgers(checks)]


def _numbers(checks: Sequence[CheckRecord]) -> list[str]:
    """Return a table of method x metric for each axiom."""
    setting = f"{checks[0].run.dtype}, seed {checks[0].run.seed}"
    single = [check for check in checks if check.metrics and not check.paired]
    labels = axiom_labels(single)
    lines: list[str] = []
    for axiom in dict.fromkeys(labels):
        here = [check for name, check in zip(labels, single, strict=True) if name == axiom]
        n = max(quantity.n for check in here for quantity in check.metrics.values())
        lines += [f"## {as_markdown(axiom)} (n = {n}, {setting})", "", *markdown(*numbers(here)), ""]
    return lines


def _ledgers(checks: Sequence[CheckRecord]) -> list[str]:
    """Return the ledger of every method that has one, each once."""
    accounts: dict[str, Account] = {}
    for check in checks:
        for side, account in check.accounts.items():
            accounts.setdefault(label(check) + (f", {side}" if side in ("left", "right") else ""), account)
    lines: list[str] = []
    for name, account in accounts.items():
        lines += [f"## Ledger of {as_markdown(name)} (sums over {account.n} examples)", ""]
        lines += [*markdown(*ledger_table(account)), "", f"Unexplained: {account.unexplained:.1g}.", ""]
    return lines
