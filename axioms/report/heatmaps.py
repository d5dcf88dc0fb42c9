"""Heatmaps of sentences as in Figure 2 of Arras et al. (2025): positive red, negative blue, the subject underlined."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

STYLE = """
body { font: 15px/1.9 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #111;
  background: #fff }
h1 { font-size: 1.3em } h2 { font-size: 1.1em; margin-bottom: 0 } p { margin: .3em 0 }
span { padding: .1em .15em; border-radius: .2em }
u { text-decoration-thickness: 2px; text-underline-offset: 3px }
.verb { background: #bde5b0; font-weight: 600 } .number { color: #666; font-size: .85em }
"""


def page(title: str, by_method: dict[str, list[dict[str, Any]]]) -> str:
    """A page of heatmaps, method by method."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for method, shown in by_method.items():
        parts.append(f"<h2>{escape(method)}</h2>")
        parts += [f"<p>{heatmap(one)}</p>" for one in shown]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
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
    tokens, asked = [], verb is None
    for place, (token, score) in enumerate(zip(one["tokens"], one["scores"], strict=True)):
        word = place in words
        if verb is not None and not word and "mask" in token.lower():
            tokens.append(verb)
            asked = True
            continue
        text, space = spelt(token) if word else (token, " ")
        tokens.append(Token(text, space, score, colour(score, largest), place in one.get("truth", ())))
    return tokens if asked or verb is None else [*tokens, verb]


def spelt(token: str) -> tuple[str, str]:
    """A token as a reader would write it, and the space before it, by the marks of the three kinds of tokenizers."""
    if token.startswith("##"):
        return token[2:], ""
    if token[:1] in ("Ġ", "▁"):
        return token[1:], " "
    return token, ""


def colour(score: float, largest: float) -> str:
    """Red for positive, blue for negative, as strong as its share of the largest."""
    share = abs(score) / largest if largest else 0.0
    return f"rgba({'214,39,40' if score > 0 else '31,119,180'},{0.75 * share:.3f})"
