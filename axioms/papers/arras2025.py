"""Arras et al. 2025 on subject-verb agreement: its names, and Tables 1, 2 and 3 from the checks of the benchmark.

The numbers that it printed stand in the specs that reproduce them, under `reported`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.papers.arras2025_claims import CLAIMS
from axioms.papers.grid import Block, Cell, Grid, Number
from axioms.papers.methods import method_table
from axioms.papers.paper import Paper, PaperPage

if TYPE_CHECKING:
    from axioms.record import CheckRecord, RunRecord

TITLE = "Arras et al. 2025"
NAME = "A Close Look at Decomposition-based XAI-Methods for Transformer Language Models"
PREFIX = "agreement-table-"
METRICS = {"pg": "PG2", "mrr": "MRR", "rma": "RMA", "pta": "PTA"}
METHODS = {
    "alti_logit": "ALTI-Logit",
    "cp_lrp": "LRP",
    "attnlrp": "AttnLRP",
    "gradient": "Gradient",
    "gradient_x_input": "Gradient×Input",
}
NORMS = ("gradient_l1", "gradient_l2")
"""The paper shows the better of the two norms, as Gradient; here that is the one with the higher MRR."""
ACROSS = 3
"""Models side by side, as in the paper."""
TRUTH = "ground_truth"

Cells = dict[str, Number]
"""By metric."""


def tables(run: RunRecord) -> list[Grid]:
    """Tables 1, 2 (three models each) and 3; none where no spec is about the benchmark."""
    specs = list(benchmark_specs(run).values())
    if not specs:
        return []
    labels = dict.fromkeys(check.method for checks in specs for check in checks if check.axiom == TRUTH)
    methods = {label: run.methods[label] for label in labels if label in run.methods}
    caption = "Overview of the methods considered."
    overview = method_table(f"{PREFIX}1", "Table 1", caption, methods, names=METHODS, paper=TITLE)
    results = [_results(specs[start : start + ACROSS], start // ACROSS) for start in range(0, len(specs), ACROSS)]
    models = [_models(specs)] if any(_of_model(checks, "task") for checks in specs) else []
    return [*([overview] if overview else []), *results, *models]


def benchmark_specs(run: RunRecord) -> dict[str, list[CheckRecord]]:
    """The checks of each spec that measures the ground truth of some method."""
    return {
        part: checks
        for part, checks in run.by_part.items()
        if any(check.axiom == TRUTH and check.than is None for check in checks)
    }


def remarks(run: RunRecord) -> list[str]:
    """A line for each spec: which methods are not above chance on MRR."""
    lines = []
    for checks in benchmark_specs(run).values():
        at_chance = []
        for check in checks:
            quantity = check.metrics.get("mrr_over_chance.mean") if check.axiom == TRUTH else None
            if quantity is not None and quantity.interval is not None and quantity.interval[0] <= 0:
                at_chance.append(str(check.method))
        said = "every method is above chance on MRR (95% interval)."
        if at_chance:
            said = f"not above chance on MRR (95% interval): {', '.join(dict.fromkeys(at_chance))}."
        lines.append(f"{checks[0].subject}: {said}")
    return lines


def _results(specs: Sequence[Sequence[CheckRecord]], part: int) -> Grid:
    """Table 2: methods down, the metrics of each model across, and what chance gives at the end."""
    columns = [_by_method(checks) for checks in specs]
    extra = [name for column in columns for name in column if name not in METHODS]
    names = [name for name in dict.fromkeys([*METHODS, *extra]) if any(name in column for column in columns)]
    rows: list[list[Cell]] = [[METHODS.get(name, name)] for name in names]
    random: list[list[Cell]] = [["Random mean"], ["±std"]]
    for checks, column in zip(specs, columns, strict=True):
        chance = _of_model(checks, "chance")
        for metric in METRICS:
            placed = _placed({name: cells[metric] for name, cells in column.items()})
            for row, name in zip(rows, names, strict=True):
                row.append(placed.get(name, Number(digits=3)))
            for row, suffix in zip(random, ("", "_sd"), strict=True):
                row.append(_number(chance, metric + suffix))
    return Grid(
        f"{PREFIX}2" if part == 0 else f"{PREFIX}2-part-{part + 1}",
        "Table 2" if part == 0 else f"Table 2, part {part + 1}",
        "Token-level accuracy with respect to the subject, on the sentences that the model gets right.",
        [("", 1), *((_model_name(checks), len(METRICS)) for checks in specs)],
        ["XAI-Method", *(f"{title} ↑" for _ in specs for title in METRICS.values())],
        [*([Block("", rows, {})] if rows else []), Block("", random, {})],
        second="underlined",
        paper=TITLE,
    )


def _by_method(checks: Sequence[CheckRecord]) -> dict[str, Cells]:
    """Our numbers by method, the better of the gradient's norms as `gradient`."""
    cells: dict[str, Cells] = {}
    names = {metric: f"{metric}.mean" for metric in METRICS}
    for check in checks:
        if check.axiom != TRUTH or check.than is not None or check.method is None or check.method in cells:
            continue
        if all(name in check.metrics for name in names.values()):
            cells[check.method] = {metric: _number(check, name) for metric, name in names.items()}
    norms = {name: cells.pop(name) for name in NORMS if name in cells}
    if norms:
        cells["gradient"] = max(norms.values(), key=lambda norm: norm["mrr"].ours or 0.0)
    return cells


def _number(check: CheckRecord | None, name: str, digits: int = 3) -> Number:
    quantity = None if check is None else check.metrics.get(name)
    if check is None or quantity is None:
        return Number(digits=digits)
    printed = check.reported.get(name)
    paper = None if isinstance(printed, list) else printed
    return Number(quantity.number, quantity.interval, quantity.n, paper, digits)


def _placed(column: Mapping[str, Number]) -> dict[str, Number]:
    """The column with first and second place by what is printed: equal numbers share a place."""
    printed = {name: round(cell.ours, cell.digits) for name, cell in column.items() if cell.ours is not None}
    ranked = sorted(set(printed.values()), reverse=True)[:2]
    places = {name: ranked.index(value) + 1 for name, value in printed.items() if value in ranked}
    return {name: replace(cell, place=places.get(name, 0)) for name, cell in column.items()}


def _models(specs: Sequence[Sequence[CheckRecord]]) -> Grid:
    """Table 3's accuracy, and how many sentences fell to each filter, beside the paper's counts."""
    tasks = [_of_model(checks, "task") for checks in specs]
    names = dict.fromkeys(name for check in tasks if check is not None for name in check.metrics)
    rows: list[list[Cell]] = []
    for name in names:
        cells = [_number(check, name, 3 if name == "accuracy" else 0) for check in tasks]
        if name == "accuracy" or any(cell.ours or cell.paper is not None for cell in cells):
            rows.append([name.replace("_", " "), *cells])
    return Grid(
        f"{PREFIX}3",
        "Table 3",
        "Prediction accuracy on subject-verb agreement, and how many sentences fell to each filter.",
        [],
        ["", *(_model_name(checks) for checks in specs)],
        [Block("", rows, {})],
        paper=TITLE,
    )


def _of_model(checks: Sequence[CheckRecord], axiom: str) -> CheckRecord | None:
    return next((check for check in checks if check.axiom == axiom), None)


def _model_name(checks: Sequence[CheckRecord]) -> str:
    """The model as the paper names it: without whose it is."""
    return checks[0].subject.rpartition("/")[2]


PAPER = Paper(
    "arras2025",
    TITLE,
    name=NAME,
    methods=METHODS,
    make_tables=tables,
    page=PaperPage("agreement", "Subject-verb agreement", remarks),
    claims=CLAIMS,
)
