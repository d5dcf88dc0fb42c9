"""What is known of a value on its way through attention: which outputs of which linear layers it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Channels:
    """Entries that are outputs of a layer; `numbers` says which of them stands where, row by row."""

    layer: Any
    numbers: Tensor

    @property
    def heads(self) -> Tensor | None:
        """The channels of each head, heads x width, at the first token; None where the last dimension is no head's."""
        count = self.layer.out_features
        vectors = self.numbers.reshape(-1, self.numbers.shape[-1])
        first = vectors[(vectors // count == 0).all(1)]
        return first % count if len(first) else None


@dataclass(frozen=True)
class Scores:
    """Q K' of two layers, and the number of the query head that stands at each place before the last two."""

    query: Channels
    key: Channels
    is_softmax: bool = False


@dataclass(frozen=True)
class Mixed:
    """A V of three layers; `numbers` says which channel of which query head stands where."""

    scores: Scores
    value: Channels
    numbers: Tensor


@dataclass(frozen=True)
class Observed:
    """What a forward pass shows of an attention block."""

    query: Channels
    key: Channels
    value: Channels
    output: Any


Label = Channels | Scores | Mixed


def layers_of(label: Label) -> list[Any]:
    """Return the layers whose outputs a value was made of."""
    if isinstance(label, Channels):
        return [label.layer]
    scores = label if isinstance(label, Scores) else label.scores
    return [scores.query.layer, scores.key.layer, *([label.value.layer] if isinstance(label, Mixed) else [])]
