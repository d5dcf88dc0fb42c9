"""The accuracy of a text classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from axioms.subjects.models.language import LanguageModel

BATCH = 64


class Accuracy(NamedTuple):
    """The share of `n` texts that are classified as labelled."""

    share: float
    n: int

    @property
    def standard_error(self) -> float:
        """The standard error of that share, for independent texts."""
        return math.sqrt(self.share * (1 - self.share) / self.n)

    def __str__(self) -> str:
        return f"{self.share:.4f} +- {self.standard_error:.4f} (n = {self.n})"


def accuracy(model: LanguageModel, texts: Sequence[str], labels: Sequence[int], max_length: int = 512) -> Accuracy:
    """Return how many texts the model classifies as labelled; those of about the same length go together."""
    import torch

    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    right = 0
    model.module.eval()
    with torch.no_grad():
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = [texts[row] for row in rows]
            encoded = model.tokenizer(batch, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
            predicted = model.module(**encoded).logits.argmax(1)
            right += int((predicted == torch.tensor([labels[row] for row in rows])).sum())
    return Accuracy(right / len(texts), len(texts))
