"""The agreement benchmark's report: Table 2 of Arras et al. (2025) in its own layout, Table 3, and the heatmaps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.report.heatmaps import page
from axioms.report.tables import Record, Row, markdown

TITLES = {"pg": "PG2", "mrr": "MRR", "rma": "RMA", "pta": "PTA"}
PAPER_ROWS = {
    "alti_logit": "ALTI-Logit",
    "cp_lrp": "LRP",
    "attnlrp": "AttnLRP",
    "gradient": "Gradient",
    "gradient_x_input": "Gradient×Input",
}
"""The paper's rows, by our labels; methods that it does not have keep their label and come after."""
GRADIENTS = ("gradient_l1", "gradient_l2")
"""The paper shows the better of the two norms, as Gradient; here that is the one with the higher MRR."""
ACROSS = 3
"""Models side by side, as in the paper."""

Cells = dict[str, tuple[float, float | None]]
"""By metric: our number and the paper's."""


def write_agreement(records: Sequence[Record], folder: Path) -> list[Path]:
    """agreement.md and a page of heatmaps for each spec; nothing where no spec is about the benchmark."""
    specs = by_spec(records)
    if not specs:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "agreement.md"
    table.write_text("\n".join(agreement_markdown(records)) + "\n", encoding="utf-8")
    written = [table]
    for spec, mine in specs.items():
        shown = {record["method"]: record["examples"] for record in mine if record.get("examples")}
        if shown:
            name = re.sub(r"[^\w.-]+", "-", Path(spec).with_suffix("").as_posix()).removeprefix("specs-")
            file = folder / f"heatmaps-{name}.html"
            title = f"{mine[0]['subject']}: the sentences with the highest logit difference"
            file.write_text(page(title, shown), encoding="utf-8")
            written.append(file)
    return written


def by_spec(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each spec that measures the ground truth of some method."""
    names = [each["spec"] for each in records if each["axiom"] == "ground_truth" and each["than"] is None]
    return {name: [each for each in records if each["spec"] == name] for name in dict.fromkeys(names)}


def agreement_markdown(records: Sequence[Record]) -> list[str]:
    """Table 2, models side by side, and what the models get right."""
    specs = list(by_spec(records).values())
    lines = [
        "# Subject-verb agreement",
        "",
        "Token-level accuracy with respect to the subject (Arras et al. 2025, Table 2), on the sentences that the "
        "model gets right. **Best**, <u>second</u>; the paper's number, where there is one, in parentheses.",
        "",
    ]
    for start in range(0, len(specs), ACROSS):
        lines += [*markdown(*_table(specs[start : start + ACROSS])), ""]
    lines += ["## Models", "", *markdown(*_models(specs)), ""]
    lines += [f"{mine[0]['subject']}: {_not_above(mine)}" for mine in specs]
    return lines


def _table(specs: Sequence[list[Record]]) -> tuple[Row, list[Row]]:
    columns = [_methods(mine) for mine in specs]
    extra = [name for column in columns for name in column if name not in PAPER_ROWS]
    names = [name for name in dict.fromkeys([*PAPER_ROWS, *extra]) if any(name in column for column in columns)]
    header = ["XAI-Method"]
    rows = [[PAPER_ROWS.get(name, name)] for name in names]
    random: list[Row] = [["Random mean"], ["±std"]]
    for mine, column in zip(specs, columns, strict=True):
        chance = next((each for each in mine if each["axiom"] == "chance"), None)
        for metric, title in TITLES.items():
            header.append(f"{mine[0]['subject']} {title}" if metric == "pg" else title)
            ranked = sorted({round(cells[metric][0], 3) for cells in column.values()}, reverse=True)
            for row, name in zip(rows, names, strict=True):
                row.append(_cell(column[name][metric], ranked) if name in column else "-")
            for row, suffix in zip(random, ("", "_sd"), strict=True):
                row.append("-" if chance is None else _plain(_number(chance, metric + suffix)))
    return header, [*rows, *random]


def _methods(mine: list[Record]) -> dict[str, Cells]:
    """Our numbers by method, the better of the gradient's norms as `gradient`."""
    found: dict[str, Cells] = {}
    for record in mine:
        names = {metric: f"{metric}.mean" for metric in TITLES}
        if record["axiom"] != "ground_truth" or record["than"] is not None or record["method"] in found:
            continue
        if all(name in record["metrics"] for name in names.values()):
            found[record["method"]] = {metric: _number(record, name) for metric, name in names.items()}
    norms = {name: found.pop(name) for name in GRADIENTS if name in found}
    if norms:
        found["gradient"] = max(norms.values(), key=lambda cells: cells["mrr"][0])
    return found


def _number(record: Record, name: str) -> tuple[float, float | None]:
    return record["metrics"][name]["value"], record["reported"].get(name)


def _plain(number: tuple[float, float | None]) -> str:
    ours, paper = number
    return f"{ours:.3f}" if paper is None else f"{ours:.3f} ({paper:.3f})"


def _cell(number: tuple[float, float | None], ranked: list[float]) -> str:
    place = ranked.index(round(number[0], 3))
    ours = f"{number[0]:.3f}"
    marked = f"**{ours}**" if place == 0 else f"<u>{ours}</u>" if place == 1 else ours
    return marked if number[1] is None else f"{marked} ({number[1]:.3f})"


def _models(specs: Sequence[list[Record]]) -> tuple[Row, list[Row]]:
    """Table 3's accuracy, and how many sentences fell to each filter, beside the paper's counts."""
    tasks = [next((each for each in mine if each["axiom"] == "task"), None) for mine in specs]
    names = list(dict.fromkeys(name for record in tasks if record is not None for name in record["metrics"]))
    rows = []
    for name in names:
        cells = [None if record is None else record["metrics"].get(name) for record in tasks]
        if name == "accuracy" or any(cell and cell["value"] for cell in cells) or _printed(tasks, name):
            rows.append([name, *(_count(record, name) for record in tasks)])
    return ["", *(mine[0]["subject"] for mine in specs)], rows


def _printed(tasks: Sequence[Record | None], name: str) -> bool:
    return any(record is not None and name in record["reported"] for record in tasks)


def _count(record: Record | None, name: str) -> str:
    if record is None or name not in record["metrics"]:
        return "-"
    value, paper = _number(record, name)
    if name == "accuracy":
        return _plain((value, paper))
    return f"{value:.0f}" if paper is None else f"{value:.0f} ({paper:.0f})"


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
