"""Heatmaps of tokens, positive red and negative blue; pages of them as in Figure 2 of Arras et al. (2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from axioms.core.html import colour
from axioms.record import RunRecord, SentenceExample, TextExample
from axioms.report.drawing import as_file_name
from axioms.report.spelling import Piece, spelt

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


def write_heatmaps(run: RunRecord, folder: Path) -> list[Path]:
    """Write a page of heatmaps for each spec of the agreement benchmark.

    What an earlier run left there is removed: it would not be of this results.json.
    """
    for file in folder.glob("heatmaps-*.html"):
        file.unlink()
    written = []
    for part, checks in run.by_part.items():
        by_method = {
            str(check.method): [example for example in check.examples if isinstance(example, SentenceExample)]
            for check in checks
            if check.examples
        }
        by_method = {method: sentences for method, sentences in by_method.items() if sentences}
        if by_method:
            name = as_file_name(part.replace(".yaml", "").replace(".yml", "").removeprefix("specs/"))
            file = folder / f"heatmaps-{name}.html"
            title = f"{checks[0].subject}: the sentences with the highest logit difference"
            file.write_text(page(title, by_method), encoding="utf-8")
            written.append(file)
    return written


def page(title: str, by_method: Mapping[str, Sequence[SentenceExample]]) -> str:
    """Return a page of heatmaps, method by method."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for method, sentences in by_method.items():
        parts.append(f"<h2>{escape(method)}</h2>")
        parts += [f"<p>{heatmap(sentence)}</p>" for sentence in sentences]
    return document(title, "\n".join(parts))


def document(title: str, body: str, style: str = "") -> str:
    """Return one self-contained file, light or dark as its reader prefers."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def heatmap(sentence: SentenceExample) -> str:
    """Return one sentence as HTML; the verb stands in the place of the mask, or at the end."""
    parts = []
    for token in tokens_of(sentence):
        if token.verb:
            parts.append(f' <span class="verb">{escape(token.text)}</span>')
            continue
        inner = f"<u>{escape(token.text)}</u>" if token.truth else escape(token.text)
        parts.append(f'{token.space}<span style="background:{token.colour}" title="{token.score:.3g}">{inner}</span>')
    return f'{"".join(parts).strip()} <span class="number">{sentence.difference:.2f}</span>'


@dataclass(frozen=True)
class Token:
    """A token as a reader would see it."""

    text: str
    space: str
    score: float = 0.0
    colour: str = "transparent"
    truth: bool = False
    """Whether it belongs to the known evidence: the subject of the sentence."""
    verb: bool = False
    """Whether it is the verb that the model predicts, and no token of its input."""


def tokens_of(example: TextExample | SentenceExample) -> list[Token]:
    """Return the tokens of an example; an agreement sentence has its verb in the place of the mask, or at the end."""
    if isinstance(example, TextExample):
        return _tokens(example, range(len(example.tokens)), ())
    verb = Token(example.forms[0], " ", verb=True)
    tokens = _tokens(example, example.words, example.truth)
    masks = [
        place for place, token in enumerate(example.tokens) if place not in example.words and "mask" in token.lower()
    ]
    for place in masks:
        tokens[place] = verb
    return tokens if masks else [*tokens, verb]


def _tokens(example: TextExample | SentenceExample, words: Sequence[int], truth: Sequence[int]) -> list[Token]:
    """Each token with its colour; special tokens, which are no words, as they are written."""
    largest = max((abs(score) for score in example.scores), default=0.0)
    tokens = []
    for place, (piece, score) in enumerate(zip(spelt(example.tokens), example.scores, strict=True)):
        text, space = piece if place in words else Piece(example.tokens[place], " ")
        tokens.append(Token(text, space, score, colour(score, largest), place in truth))
    return tokens
