"""What an attribution is: the relevance of every feature of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from axioms.core.html import colour

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.ledger import Ledger


EXAMPLES_SHOWN = 8
NUMBERED = 64
"""Features up to which each has its number in a heatmap; more are a strip of colours."""


class Decomposition(NamedTuple):
    """What a method returns if its scores decompose something other than the output itself."""

    scores: Tensor
    total: Tensor


@dataclass(frozen=True)
class Attribution:
    """Relevance of every feature of a batch."""

    scores: Tensor
    """batch x features"""
    output: Tensor
    """batch: the number that was explained"""
    total: Tensor
    """batch: what the scores of a conserving method sum to, the output unless the method has a baseline"""
    method: str
    seconds: float = 0.0
    """Time spent in the method itself."""
    ledger: Ledger | None = None
    """Where relevance went that did not reach the features; only where it was asked for."""
    at: Tensor | None = None
    """Relevance at the place that was asked for, in the shape of the value there: batch x tokens x neurons, ..."""
    notes: tuple[str, ...] = ()
    """Sentences about how it was computed, such as why leave-one-out could not reuse what removals share."""
    labels: tuple[tuple[str, ...], ...] = ()
    """What a notebook writes at the features of each example; their numbers where it is empty."""

    def labelled(self, labels: Sequence[Sequence[str]]) -> Attribution:
        """Return the same with a word for each feature of each example, for a notebook: the tokens of a text."""
        if [len(row) for row in labels] != [self.scores.shape[1]] * len(self.scores):
            shape = " x ".join(str(size) for size in self.scores.shape)
            raise ValueError(f"there are scores of {shape} features; give that many labels, example by example.")
        return replace(self, labels=tuple(tuple(row) for row in labels))

    def _repr_html_(self) -> str:
        """Return a heatmap of the first examples for a notebook, red for and blue against."""
        rows = [self._row(number) for number in range(min(len(self.scores), EXAMPLES_SHOWN))]
        more = len(self.scores) - len(rows)
        left_out = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<div><b>{escape(self.method)}</b>: red for it, blue against it{''.join(rows)}{left_out}</div>"

    def _row(self, number: int) -> str:
        scores = [float(score) for score in self.scores[number].tolist()]
        largest = max(map(abs, scores), default=0.0)
        words = self.labels[number] if self.labels else [str(place) for place in range(1, len(scores) + 1)]
        spans = [
            f'<span style="background:{colour(score, largest)};padding:.1em .2em" title="{escape(word)}: {score:.4g}">'
            f"{escape(word) if self.labels or len(scores) <= NUMBERED else '&nbsp;'}</span>"
            for word, score in zip(words, scores, strict=True)
        ]
        said = f"output {float(self.output[number]):.4g}, sum of relevance {sum(scores):.4g}"
        return f"<p>{' '.join(spans)}<br><small>{said}</small></p>"


@dataclass(frozen=True)
class Swept:
    """A sweep over layers: the relevance under each setting, by the layers whose softmax is bypassed in it."""

    layers: tuple[int, ...]
    attributions: Mapping[frozenset[int], Attribution]
