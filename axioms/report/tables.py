"""Records as rows: the matrix of verdicts, and the measured numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Record = dict[str, Any]
Row = list[str]

FAILED, CLAIMED, HOLDS, REFUSED = "FAILED", "VIOLATED*", "holds", "refused"
MOST_TELLING = (FAILED, CLAIMED, HOLDS)


def cell(record: Record) -> str:
    """A verdict as a reader should see it: `VIOLATED*` is a violation that the spec claims; a record is its number."""
    if not record["passed"]:
        return FAILED
    if record["verdict"] in ("violated", "holds"):
        return CLAIMED if record["verdict"] == "violated" else HOLDS
    if record["verdict"] == "refused":
        return REFUSED
    first = next(iter(record["metrics"])).rpartition("left.")[2]
    sides = [
        quantity for name, quantity in record["metrics"].items() if name in (first, f"left.{first}", f"right.{first}")
    ]
    values = [quantity["value"] for quantity in sides]
    return " / ".join(dict.fromkeys(short_list(each) if isinstance(each, list) else brief(each) for each in values))


def matrix(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of method x axiom; where several specs meet in a cell, the most telling one stands for all."""
    single = [record for record in records if record["than"] is None and record["method"] is not None]
    axioms = list(dict.fromkeys(record["axiom"] for record in single))
    rows = []
    for method in dict.fromkeys(record["method"] for record in single):
        row = [method]
        for axiom in axioms:
            cells = [cell(each) for each in single if each["axiom"] == axiom and each["method"] == method]
            told = [verdict for verdict in MOST_TELLING if verdict in cells]
            row.append(told[0] if told else cells[0] if cells else "-")
        rows.append(row)
    return ["", *axioms], rows


def beside_paper(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of every number that a paper printed, with ours beside it."""
    rows = [
        [
            label(record),
            f"{record['axiom']}.{name}",
            show(record["metrics"][name]),
            str(record["metrics"][name]["n"]),
            printed(paper),
        ]
        for record in records
        for name, paper in record["reported"].items()
    ]
    return ["method", "metric", "ours (interval)", "n", "paper"], rows


def numbers(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of method x metric, for the records of one axiom; the paper's number follows ours."""
    names = list(dict.fromkeys(name for record in records for name in record["metrics"]))
    rows = []
    for record in records:
        row = [label(record)]
        for name in names:
            text = show(record["metrics"][name]) if name in record["metrics"] else "-"
            paper = record["reported"].get(name)
            row.append(text if paper is None else f"{text}; paper {printed(paper)}")
        rows.append(row)
    return ["", *names], rows


def comparisons(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of every comparison: the difference, its interval, the paired test and the effect sizes."""
    rows = [
        [
            f"{label(record)}{_under(record)}",
            f"{record['axiom']}.{name}",
            show({**each, "value": each["difference"]}),
            *effect(each),
            "recorded" if record["verdict"] == "recorded" else cell(record),
        ]
        for record in records
        for name, each in record["paired"].items()
    ]
    return ["comparison", "metric", "difference (interval)", "p", "Holm p", "d_z", "wins", "verdict"], rows


def _under(record: Record) -> str:
    """The removal that a comparison is about, where its spec has several."""
    before, _, removal = record["id"].removesuffix("]").partition(f"{record['method']}-over-{record['than']}-")
    return f", {removal}" if before and removal and not removal.isdigit() else ""


def effect(paired: dict[str, Any]) -> Row:
    """p, Holm's p, d_z and the share of wins of a comparison."""
    d_z = "-" if paired["d_z"] is None else f"{paired['d_z']:.2f}"
    return [f"{paired['p']:.2g}", f"{paired['p_holm']:.2g}", d_z, f"{paired['wins']:.0%}"]


def label(record: Record) -> str:
    """What a record is about."""
    method = record["method"] or ("the model" if record["id"].endswith("[model]") else "the pair")
    return f"{method} over {record['than']}" if record["than"] else method


def axiom_labels(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The axiom of each record, with its options where these records have it with others: `precision (dtype x)`."""
    found: dict[str, list[Any]] = {}
    for record in records:
        options = found.setdefault(record["axiom"], [])
        if record["axiom_options"] not in options:
            options.append(record["axiom_options"])

    def one(record: Mapping[str, Any]) -> str:
        options = ", ".join(f"{name} {value}" for name, value in record["axiom_options"].items())
        return f"{record['axiom']} ({options})" if options and len(found[record["axiom"]]) > 1 else record["axiom"]

    return [one(record) for record in records]


def show(quantity: dict[str, Any]) -> str:
    """A number with its interval."""
    value, interval = quantity["value"], quantity["interval"]
    if value is None:
        return "not finite"
    if isinstance(value, list):
        return short_list(value)
    text = short(value)
    return text if interval is None else f"{text} [{short(interval[0])}, {short(interval[1])}]"


def printed(paper: float | list[float]) -> str:
    """What a paper printed: a number, or one for each layer."""
    return short_list(paper) if isinstance(paper, list) else f"{paper:.4f}"


def brief(number: float) -> str:
    """Two decimals, or the order of magnitude of what they would hide."""
    if number != 0 and abs(number) < 0.005:
        return f"{number:.0e}"
    return f"{number:.2f}"


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


def within(width: int, header: Row, rows: list[Row]) -> list[str]:
    """The same in as many blocks of columns as the width asks for, each with the first column."""
    lines: list[str] = []
    start = 1
    while start < len(header):
        stop = start + 1
        while stop < len(header) and len(aligned(*_columns(header, rows, start, stop + 1))[0]) <= width:
            stop += 1
        lines += ([""] if lines else []) + aligned(*_columns(header, rows, start, stop))
        start = stop
    return lines


def _columns(header: Row, rows: list[Row], start: int, stop: int) -> tuple[Row, list[Row]]:
    """The first column and those from `start` to `stop`, without the rows that have nothing in them."""
    chosen = [[row[0], *row[start:stop]] for row in rows if set(row[start:stop]) != {"-"}]
    return [header[0], *header[start:stop]], chosen


def markdown(header: Row, rows: list[Row]) -> list[str]:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(value.replace("|", "\\|") for value in line) + " |" for line in lines]
