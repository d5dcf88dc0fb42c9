"""The tables of Arras et al. (2025) from the records of the agreement benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from axioms.report.grid import Block, Cell, Grid, Number
from axioms.report.method_table import method_table
from axioms.report.tables import Record

PAPER = "Arras et al. 2025"
PREFIX = "agreement-table-"
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

Cells = dict[str, Number]
"""By metric."""


def agreement_tables(records: Sequence[Record]) -> list[Grid]:
    """Tables 1, 2 (three models each) and 3; none where no spec is about the benchmark."""
    specs = list(by_spec(records).values())
    if not specs:
        return []
    used = dict.fromkeys(each["method"] for mine in specs for each in mine if each["axiom"] == "ground_truth")
    overview = method_table(
        f"{PREFIX}1", "Table 1", "Overview of the methods considered.", list(used), titles=PAPER_ROWS, paper=PAPER
    )
    results = [_results(specs[start : start + ACROSS], start // ACROSS) for start in range(0, len(specs), ACROSS)]
    models = [_models(specs)] if any(_task(mine) for mine in specs) else []
    return [*([overview] if overview else []), *results, *models]


def by_spec(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The records of each spec that measures the ground truth of some method."""
    names = [each["spec"] for each in records if each["axiom"] == "ground_truth" and each["than"] is None]
    return {name: [each for each in records if each["spec"] == name] for name in dict.fromkeys(names)}


def _results(specs: Sequence[list[Record]], part: int) -> Grid:
    """Table 2: methods down, the metrics of each model across, and what chance gives at the end."""
    columns = [_methods(mine) for mine in specs]
    extra = [name for column in columns for name in column if name not in PAPER_ROWS]
    names = [name for name in dict.fromkeys([*PAPER_ROWS, *extra]) if any(name in column for column in columns)]
    rows: list[list[Cell]] = [[PAPER_ROWS.get(name, name)] for name in names]
    random: list[list[Cell]] = [["Random mean"], ["±std"]]
    for mine, column in zip(specs, columns, strict=True):
        chance = next((each for each in mine if each["axiom"] == "chance"), None)
        for metric in TITLES:
            placed = _placed({name: cells[metric] for name, cells in column.items()})
            for row, name in zip(rows, names, strict=True):
                row.append(placed.get(name, Number(digits=3)))
            for row, suffix in zip(random, ("", "_sd"), strict=True):
                row.append(_number(chance, metric + suffix))
    return Grid(
        f"{PREFIX}2" if part == 0 else f"{PREFIX}2-part-{part + 1}",
        "Table 2" if part == 0 else f"Table 2, part {part + 1}",
        "Token-level accuracy with respect to the subject, on the sentences that the model gets right.",
        [("", 1), *((_short(mine), len(TITLES)) for mine in specs)],
        ["XAI-Method", *(f"{title} ↑" for _ in specs for title in TITLES.values())],
        [*([Block("", rows, {})] if rows else []), Block("", random, {})],
        second="underlined",
        paper=PAPER,
    )


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
        found["gradient"] = max(norms.values(), key=lambda cells: cells["mrr"].ours or 0.0)
    return found


def _number(record: Record | None, name: str, digits: int = 3) -> Number:
    found = None if record is None else record["metrics"].get(name)
    if record is None or found is None:
        return Number(digits=digits)
    interval = None if found["interval"] is None else (found["interval"][0], found["interval"][1])
    return Number(found["value"], interval, found["n"], record["reported"].get(name), digits)


def _placed(column: dict[str, Number]) -> dict[str, Number]:
    """First and second place by what is printed: equal numbers share a place."""
    printed = {name: round(cell.ours, cell.digits) for name, cell in column.items() if cell.ours is not None}
    ranked = sorted(set(printed.values()), reverse=True)[:2]
    places = {name: ranked.index(value) + 1 for name, value in printed.items() if value in ranked}
    return {name: replace(cell, place=places.get(name, 0)) for name, cell in column.items()}


def _models(specs: Sequence[list[Record]]) -> Grid:
    """Table 3's accuracy, and how many sentences fell to each filter, beside the paper's counts."""
    tasks = [_task(mine) for mine in specs]
    names = dict.fromkeys(name for record in tasks if record is not None for name in record["metrics"])
    rows: list[list[Cell]] = []
    for name in names:
        cells = [_number(record, name, 3 if name == "accuracy" else 0) for record in tasks]
        if name == "accuracy" or any(cell.ours or cell.paper is not None for cell in cells):
            rows.append([name.replace("_", " "), *cells])
    return Grid(
        f"{PREFIX}3",
        "Table 3",
        "Prediction accuracy on subject-verb agreement, and how many sentences fell to each filter.",
        [],
        ["", *(_short(mine) for mine in specs)],
        [Block("", rows, {})],
        paper=PAPER,
    )


def _task(mine: list[Record]) -> Record | None:
    return next((each for each in mine if each["axiom"] == "task"), None)


def _short(mine: list[Record]) -> str:
    """The model as the paper names it: without whose it is."""
    return str(mine[0]["subject"]).rpartition("/")[2]
