"""The agreement benchmark's report: the tables of Arras et al. (2025) on one page, and the heatmaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.report.agreement_tables import agreement_tables, by_spec
from axioms.report.heatmaps import page
from axioms.report.render import markdown_table
from axioms.report.tables import Record


def write_agreement(records: Sequence[Record], folder: Path) -> list[Path]:
    """agreement.md and a page of heatmaps for each spec; nothing where no spec is about the benchmark.

    What an earlier run left there is removed: it would not be of this results.json.
    """
    table = folder / "agreement.md"
    for file in (table, *folder.glob("heatmaps-*.html")):
        file.unlink(missing_ok=True)
    specs = by_spec(records)
    if not specs:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join(agreement_markdown(records)) + "\n", encoding="utf-8")
    written = [table]
    for spec, mine in specs.items():
        shown = {
            record["method"]: record["examples"]
            for record in mine
            if record["axiom"] == "ground_truth" and record["examples"]
        }
        if shown:
            name = re.sub(r"[^\w.-]+", "-", Path(spec).with_suffix("").as_posix()).removeprefix("specs-")
            file = folder / f"heatmaps-{name}.html"
            title = f"{mine[0]['subject']}: the sentences with the highest logit difference"
            file.write_text(page(title, shown), encoding="utf-8")
            written.append(file)
    return written


def agreement_markdown(records: Sequence[Record]) -> list[str]:
    """The paper's tables, and which methods are no better than chance."""
    lines = ["# Subject-verb agreement", ""]
    for grid in agreement_tables(records):
        lines += [*markdown_table(grid).splitlines(), ""]
    return [*lines, *(f"{mine[0]['subject']}: {_not_above(mine)}" for mine in by_spec(records).values())]


def _not_above(mine: list[Record]) -> str:
    """Which methods are not above chance on MRR."""
    name, found = "mrr_over_chance.mean", []
    for record in mine:
        quantity: Any = record["metrics"].get(name) if record["axiom"] == "ground_truth" else None
        if quantity is not None and quantity["interval"] is not None and quantity["interval"][0] <= 0:
            found.append(record["method"])
    if found:
        return f"not above chance on MRR (95% interval): {', '.join(dict.fromkeys(found))}."
    return "every method is above chance on MRR (95% interval)."
