"""Numbers as text, and rows of text as tables for a terminal or for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from axioms.core.printable import printable
from axioms.record import ClaimNumber, Comparison, Quantity

SYNTAX = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)"  # a backslash that would take the meaning from what follows
    r"|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:])|\|"  # tags, entities, links, cells
    r"|[*~](?=\S)|(?<![^\W_])_(?=\S)"  # emphasis
    r"|^(?:[#>]|[-+*](?=[\s-])|`(?=``)|\d{1,9}[.)](?=\s))"  # headings, quotations, lists, blocks of code
)
"""Where Markdown would begin something."""
Row = list[str]
Table = tuple[Row, list[Row]]
"""Header and rows."""


def show(quantity: Quantity) -> str:
    """A number with its interval."""
    value, interval = quantity.value, quantity.interval
    if isinstance(value, list):
        return short_list(value)
    if value is None or not math.isfinite(value):
        return "not finite"
    text = short(value)
    return text if interval is None else f"{text} [{short(interval[0])}, {short(interval[1])}]"


UNITS = {
    "pearson": "r",
    "pearson_sum_normalized": "r",
    "spearman": "rank r",
    "relative_gap": "gap",
    "gap": "gap",
    "relative_error": "error",
    "delta": "Δ",
    "ratio": "ratio",
    "passes": "passes",
    "mrr_over_chance": "MRR",
    "pg": "PG",
    "changes": "changed",
}
"""How a metric is abbreviated where there is little room; others stand by their own name."""


def unit_of(metric: str) -> str:
    """Return what a number of this metric is called: `r` for loo_correlation.left.pearson.mean."""
    parts = [part for part in metric.split(".") if part not in ("mean", "max", "min", "median", "left", "right")]
    name = parts[-1] if parts else metric
    return UNITS.get(name, name.replace("_", " "))


def claim_number(number: ClaimNumber) -> str:
    """`r 0.83 [0.74, 0.88] n=64`, with a sign where it is a difference; without interval and n where it is exact."""
    if isinstance(number.value, list):
        return f"{number.unit} {_scores(number.value)}"
    if number.value is None or not math.isfinite(number.value):
        return "not finite"
    sign = "+" if number.is_difference and number.value >= 0 else ""
    text = compact(number.value)
    if number.interval is None:
        return f"{number.unit} {sign}{text}".strip()
    digits = len(text.partition(".")[2]) if "e" not in text else 3
    low, high = (f"{end:.{digits}f}" for end in number.interval)
    return f"{number.unit} {sign}{number.value:.{digits}f} [{low}, {high}] n={number.n}".strip()


def _scores(value: Sequence[Any]) -> str:
    """The scores of the first example: `0.25 each`, `(6.00, 6.00, 12.00)`, with dots for all beyond four."""
    while value and isinstance(value[0], list):
        value = value[0]
    if len(value) > 1 and all(math.isclose(score, value[0]) for score in value):
        return f"{compact(value[0])} each"
    return f"({', '.join(map(compact, value[:4]))}{', ...' if len(value) > 4 else ''})"


def compact(number: float) -> str:
    """Two decimals, three where fewer would hide it, and the order of magnitude of the very small and large."""
    size = abs(number)
    if number == 0:
        return "0"
    if 0.0995 <= size < 1000:
        return f"{number:.2f}"
    return f"{number:.3f}" if 0.0005 <= size < 0.0995 else f"{number:.0e}"


def printed(paper: float | list[float]) -> str:
    """What a paper printed: a number, or one for each layer."""
    return short_list(paper) if isinstance(paper, list) else f"{paper:.4f}"


def effect(test: Comparison) -> Row:
    """p, Holm's p, d_z and the share of wins of a comparison."""
    d_z = "-" if test.d_z is None else f"{test.d_z:.2f}"
    return [f"{test.p:.2g}", f"{test.p_holm:.2g}", d_z, f"{test.wins:.0%}"]


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


def short_list(values: Sequence[Any]) -> str:
    """Up to one row of up to eight numbers."""
    row = values[0] if values and isinstance(values[0], list) else values
    numbers = ", ".join("nan" if number is None else f"{number:.6g}" for number in row[:8])
    more = len(row) > 8 or (row is not values and len(values) > 1)
    return f"[{numbers}{', ...' if more else ''}]"


def aligned(header: Row, rows: Sequence[Row]) -> list[str]:
    """Columns padded to equal width."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    ]


def within(width: int, header: Row, rows: Sequence[Row]) -> list[str]:
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


def _columns(header: Row, rows: Sequence[Row], start: int, stop: int) -> Table:
    """The first column and those from `start` to `stop`, without the rows that have nothing in them."""
    chosen = [[row[0], *row[start:stop]] for row in rows if set(row[start:stop]) != {"-"}]
    return [header[0], *header[start:stop]], chosen


def markdown(header: Row, rows: Sequence[Row]) -> list[str]:
    """A Markdown table, in which what stands in a cell is text."""
    lines = [map(as_markdown, header), ["---"] * len(header), *(map(as_markdown, row) for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def as_markdown(text: str) -> str:
    """Return one line of Markdown that shows a text: nothing but code between backticks begins in it."""
    return SYNTAX.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", " ".join(printable(text).split()))
