"""Pieces of HTML that notebooks and reports share: the colour of a score, a table, a coloured word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

RED, BLUE = (214, 39, 40), (31, 119, 180)
STRONGEST = 0.75
"""Opacity of the largest score: what stands on it can still be read, on light paper and on dark."""
GREEN, AMBER, GRAY = "#2e7d32", "#b26a00", "#767676"
VERDICTS = {
    "holds": GREEN,
    "shown": GREEN,
    "violated": "#c62828",
    "contradicted": "#c62828",
    "inconclusive": AMBER,
    "not_shown": AMBER,
}
"""The colour of each verdict; gray for those that decide nothing."""


def colour(score: float, largest: float) -> str:
    """Return red for a positive score, blue for a negative one, as strong as its share of the largest."""
    share = abs(score) / largest if largest else 0.0
    red, green, blue = RED if score > 0 else BLUE
    return f"rgba({red},{green},{blue},{STRONGEST * share:.3f})"


def verdict_word(verdict: str) -> str:
    """Return a verdict in its colour; the word itself says it, too."""
    return f'<b style="color:{VERDICTS.get(verdict, GRAY)}">{escape(verdict.replace("_", " "))}</b>'


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table; its cells are HTML already, its header and caption are text."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    above = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
