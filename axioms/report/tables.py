"""Records as rows: the matrix of verdicts, and the measured numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]
Row = list[str]

ORDER = {"FAILED": 0, "VIOLATED*": 1, "holds": 2, "recorded": 3}


def cell(record: Record) -> str:
    """A verdict as a reader should see it: `VIOLATED*` is a violation that the spec claims."""
    if not record["passed"]:
        return "FAILED"
    return {"violated": "VIOLATED*", "holds": "holds"}.get(record["verdict"], "recorded")


def matrix(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of method x axiom; where several specs meet in a cell, the most telling one stands for all."""
    single = [record for record in records if record["than"] is None and record["method"] is not None]
    axioms = list(dict.fromkeys(record["axiom"] for record in single))
    rows = []
    for method in dict.fromkeys(record["method"] for record in single):
        row = [method]
        for axiom in axioms:
            cells = [cell(each) for each in single if each["axiom"] == axiom and each["method"] == method]
            row.append(min(cells, key=ORDER.__getitem__) if cells else "-")
        rows.append(row)
    return ["", *axioms], rows


def measured(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of every number with a paper's beside it, and every recorded one."""
    rows = []
    for record in records:
        for name, quantity in record["metrics"].items():
            paper = record["reported"].get(name)
            if paper is None and record["verdict"] != "recorded":
                continue
            number = "-" if paper is None else f"{paper:.4f}"
            rows.append(
                [record["method"] or "", f"{record['axiom']}.{name}", show(quantity), str(quantity["n"]), number]
            )
    return ["method", "metric", "ours (interval)", "n", "paper"], rows


def show(quantity: dict[str, Any]) -> str:
    """A number with its interval."""
    value, interval = quantity["value"], quantity["interval"]
    if value is None:
        return "not finite"
    if isinstance(value, list):
        return short_list(value)
    text = short(value)
    return text if interval is None else f"{text} [{short(interval[0])}, {short(interval[1])}]"


def short(number: float) -> str:
    """Four decimals for ordinary numbers, scientific for the very small and large."""
    if number == 0 or 1e-3 <= abs(number) < 1e5:
        return f"{number:.4f}"
    return f"{number:.2e}"


def short_list(values: list[Any]) -> str:
    """Up to one row of up to eight numbers."""
    row = values[0] if values and isinstance(values[0], list) else values
    numbers = ", ".join("nan" if number is None else f"{number:.6g}" for number in row[:8])
    more = len(row) > 8 or (row is not values and len(values) > 1)
    return f"[{numbers}{', ...' if more else ''}]"


def aligned(header: Row, rows: list[Row]) -> list[str]:
    """Columns padded to equal width."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    ]


def markdown(header: Row, rows: list[Row]) -> list[str]:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(value.replace("|", "\\|") for value in line) + " |" for line in lines]
