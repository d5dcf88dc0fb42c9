"""Heatmaps of tokens, positive red and negative blue; pages of them as in Figure 2 of Arras et al. (2025)."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from axioms.report.spelling import Piece, spelt

RED, BLUE = (214, 39, 40), (31, 119, 180)
STRONGEST = 0.75
"""Opacity of the largest score: what stands on it can still be read, on light paper and on dark."""
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #111; --faint: #595959; --line: #767676; --verb: #bde5b0 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #141414; --ink: #f2f2f2; --faint: #b3b3b3; --line: #8c8c8c; --verb: #2f5a22 } }
body { font: 15px/1.9 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: var(--ink);
  background: var(--paper); overflow-wrap: anywhere }
h1 { font-size: 1.3em } h2 { font-size: 1.1em; margin-bottom: 0 } p { margin: .3em 0 }
span { padding: .1em .15em; border-radius: .2em; print-color-adjust: exact; -webkit-print-color-adjust: exact }
u { text-decoration-thickness: 2px; text-underline-offset: 3px }
.verb { background: var(--verb); font-weight: 600 } .number { color: var(--faint); font-size: .85em }
"""


def page(title: str, by_method: dict[str, list[dict[str, Any]]]) -> str:
    """A page of heatmaps, method by method."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for method, shown in by_method.items():
        parts.append(f"<h2>{escape(method)}</h2>")
        parts += [f"<p>{heatmap(one)}</p>" for one in shown]
    return document(title, "\n".join(parts))


def document(title: str, body: str, style: str = "") -> str:
    """One self-contained file, light or dark as its reader prefers."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def heatmap(one: dict[str, Any]) -> str:
    """One sentence; the verb stands in the place of the mask, or at the end."""
    parts = []
    for token in tokens_of(one):
        if token.verb:
            parts.append(f' <span class="verb">{escape(token.text)}</span>')
            continue
        inner = f"<u>{escape(token.text)}</u>" if token.truth else escape(token.text)
        parts.append(f'{token.space}<span style="background:{token.colour}" title="{token.score:.3g}">{inner}</span>')
    return f'{"".join(parts).strip()} <span class="number">{one["difference"]:.2f}</span>'


@dataclass(frozen=True)
class Token:
    """A token as a reader would see it."""

    text: str
    space: str
    score: float = 0.0
    colour: str = "transparent"
    truth: bool = False
    """Whether it belongs to the evidence that is known."""
    verb: bool = False
    """Whether it is what the model was asked for, and no token of its input."""


def tokens_of(one: dict[str, Any]) -> list[Token]:
    """The tokens of an example; of an agreement sentence with its verb in the place of the mask, or at the end."""
    largest = max((abs(score) for score in one["scores"]), default=0.0)
    verb = Token(one["forms"][0], " ", verb=True) if "forms" in one else None
    words = one.get("words", range(len(one["tokens"])))
    pieces = spelt(one["tokens"])
    tokens, asked = [], verb is None
    for place, (token, score) in enumerate(zip(one["tokens"], one["scores"], strict=True)):
        word = place in words
        if verb is not None and not word and "mask" in token.lower():
            tokens.append(verb)
            asked = True
            continue
        text, space = pieces[place] if word else Piece(token, " ")
        tokens.append(Token(text, space, score, colour(score, largest), place in one.get("truth", ())))
    return tokens if asked or verb is None else [*tokens, verb]


def colour(score: float, largest: float) -> str:
    """Red for positive, blue for negative, as strong as its share of the largest."""
    share = abs(score) / largest if largest else 0.0
    red, green, blue = RED if score > 0 else BLUE
    return f"rgba({red},{green},{blue},{STRONGEST * share:.3f})"
