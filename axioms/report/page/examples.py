"""Texts with the relevance of their tokens, as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from axioms.record import CheckRecord, ImageExample, SentenceExample
from axioms.report.heatmaps import Token, tokens_of


@dataclass(frozen=True)
class Text:
    """A text of which the relevance was kept."""

    title: str
    """What the model's output is."""
    is_sentence: bool
    """Whether it is one of the agreement benchmark."""
    by_method: dict[str, list[Token]] = field(default_factory=dict)


def texts_of(checks: Sequence[CheckRecord]) -> list[Text]:
    """Return the texts of which the relevance was kept, each with the methods that attributed it."""
    texts: dict[tuple[str, ...], Text] = {}
    for check in checks:
        for example in check.examples:
            if isinstance(example, ImageExample):
                continue
            is_sentence = isinstance(example, SentenceExample)
            title = (
                f"{example.forms[0]}, difference {example.difference:.2f}"
                if isinstance(example, SentenceExample)
                else f"output {example.output:.2f}"
            )
            text = texts.setdefault(tuple(example.tokens), Text(title, is_sentence))
            text.by_method.setdefault(str(check.method), tokens_of(example))
    return list(texts.values())
