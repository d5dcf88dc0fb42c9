"""Tokens in the terminal: coloured, or with a signed number behind each where colours are not wanted."""

from __future__ import annotations

import os
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from axioms.core.printable import printable
from axioms.report.spelling import Piece

if TYPE_CHECKING:
    from axioms.commands.explain.explain import Answer
    from axioms.engine.handlers.ledger import Ledger

BLACK, WHITE = 16, 231
REDS = ((224, BLACK), (217, BLACK), (210, BLACK), (203, BLACK), (160, WHITE))
BLUES = ((189, BLACK), (153, BLACK), (117, BLACK), (75, BLACK), (26, WHITE))
"""Background and text by fifths of the largest score, as numbers of the 256 colours that every terminal has."""
LEAST = 0.05
"""Share of the largest below which a token stays uncoloured."""
INDENT = "  "
NEGLIGIBLE = 5e-5


def wants_colour(stream: TextIO) -> bool:
    """Return whether to paint: NO_COLOR forbids colours, FORCE_COLOR asks for them; else they are for terminals."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def legend(colour: bool) -> str:
    """Return how to read the tokens."""
    if not colour:
        return "relevance in brackets behind each token"
    return f"{_painted(' for it ', 1.0)} {_painted(' against it ', -1.0)} as strong as its share of the largest"


def block(answer: Answer, pieces: Sequence[Piece], *, width: int, colour: bool) -> list[str]:
    """Return a method's lines: name, sum and agreement with leave-one-out, the tokens, what was kept on the way."""
    if answer.reason:
        return [printable(answer.method), *_wrapped(printable(answer.reason), width)]
    r = "" if answer.loo_r is None else f"   LOO r {answer.loo_r:.2f}"
    lines = [f"{printable(answer.method):<20} sum {signed(answer.total, answer.largest)}{r}"]
    lines += tokens(answer, pieces, width=width, colour=colour)
    return lines if answer.ledger is None else [*lines, *_wrapped(kept_in_one_line(answer.ledger), width)]


def tokens(answer: Answer, pieces: Sequence[Piece], *, width: int, colour: bool) -> list[str]:
    """Return the tokens in lines of at most `width` columns."""
    lines, used = [""], 0
    room = max(20, width) - len(INDENT)
    for (token, space), score in zip(pieces, answer.scores, strict=True):
        text = printable(token)
        plain = text if colour else f"{text}({signed(score, answer.largest)})"
        shown = _painted(text, score / answer.largest if answer.largest else 0.0) if colour else plain
        if used and used + len(space) + columns(plain) > room:
            lines.append("")
            used = 0
        before = space if used else ""
        lines[-1] += before + shown
        used += len(before) + columns(plain)
    return [INDENT + line for line in lines]


def kept_in_one_line(ledger: Ledger) -> str:
    """Return where relevance went that did not reach the tokens."""
    from axioms.engine.handlers.ledger import CATEGORIES

    amounts = {category: ledger.absorbed(category) for category in CATEGORIES}
    said = [f"{category} {amount:+.4f}" for category, amount in amounts.items() if abs(amount) >= NEGLIGIBLE]
    return (
        f"ledger: output {ledger.output:.4f} = tokens {ledger.features:.4f}"
        + (f", kept by {', '.join(said)}" if said else "")
        + f", unexplained {ledger.unexplained:.0e}"
    )


def signed(score: float, largest: float) -> str:
    """Return a score with a sign unless it is zero, and with the digits that numbers of this size need."""
    if 0 < largest < 0.005:
        return f"{score:+.0e}" if score else "0"
    text = f"{score:+.3f}" if 0 < largest < 0.5 else f"{score:+.2f}"
    return text if float(text) else text[1:]


def _painted(text: str, share: float) -> str:
    if abs(share) < LEAST:
        return text
    palette = REDS if share > 0 else BLUES
    background, ink = palette[min(int(abs(share) * len(palette)), len(palette) - 1)]
    return f"\x1b[48;5;{background}m\x1b[38;5;{ink}m{text}\x1b[0m"


def columns(text: str) -> int:
    """Return how many columns a text takes: wide characters two, accents that combine none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(20, width), initial_indent=INDENT, subsequent_indent=INDENT)
