"""What an attribution is: the relevance of every feature of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.engine.handlers.ledger import Ledger


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


@dataclass(frozen=True)
class Swept:
    """A sweep over layers: the relevance under each setting, by the layers whose softmax is bypassed in it."""

    layers: tuple[int, ...]
    attributions: Mapping[frozenset[int], Attribution]
