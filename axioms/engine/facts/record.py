"""What is known of a value: facts, and mixtures of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Origin(NamedTuple):
    """The product of variables that a value was made of."""

    path: str
    """Of the module that multiplied."""
    contracted: bool
    """Whether it sums over a common index: scores, which stay so through a softmax and other functions."""


class Facts(NamedTuple):
    """What is known of every entry of a value."""

    varies: bool = False
    """Depends on the input, in a pass without gradients; with gradients, `requires_grad` says so."""
    is_activated: bool = False
    """Came out of an activation: in a product with it, the other factor is the signal."""
    is_scores: bool = False
    """A product of two variables, such as Q K', that no softmax or linear map has made something else of."""
    is_weights: bool = False
    """A softmax's output: a product with it is what attention heads read."""
    is_held: bool = False
    """Treated as a constant by its rule, though other entries of the same value are not: some heads of A."""
    normalizes: bool = False
    """A deviation or its inverse: a product with it is a norm."""
    degree: int = 1
    """The polynomial degree in the features, started anew by every nonlinearity and norm."""
    softmaxes: frozenset[int] = frozenset()
    """The layers through whose softmax alone it depends on the input; empty where there is another way."""
    origin: Origin | None = None


PLAIN = Facts()


@dataclass(frozen=True, eq=False)
class Mixture:
    """Different facts in one value."""

    codes: Tensor
    """For each entry the number of its facts in the table, counted from 1; 0 for constants, of which nothing is said"""
    table: tuple[Facts, ...]


def combine(facts: Sequence[Facts]) -> Facts:
    """Return what is known of a sum, a join or a mixture of values."""
    if len(facts) == 1:
        return facts[0]
    softmaxes = [fact.softmaxes for fact in facts]
    return Facts(
        varies=any(fact.varies for fact in facts),
        is_activated=all(fact.is_activated for fact in facts),
        is_scores=any(fact.is_scores for fact in facts),
        is_weights=all(fact.is_weights for fact in facts),
        is_held=all(fact.is_held for fact in facts),
        normalizes=all(fact.normalizes for fact in facts),
        degree=max(fact.degree for fact in facts),
        softmaxes=frozenset().union(*softmaxes) if all(softmaxes) else frozenset(),
        origin=next((fact.origin for fact in facts if fact.origin is not None), None),
    )


def simplify(codes: Tensor, table: tuple[Facts, ...]) -> Facts | Mixture:
    """Return one set of facts where all entries have the same."""
    codes = torch.where((codes > 0) & (codes <= len(table)), codes, 0.0)  # padding may be filled with anything
    low, high = torch.where(codes > 0, codes, float(len(table))).min(), codes.max()
    if bool(low >= high):
        return table[max(int(high), 1) - 1]
    return Mixture(codes, table)
