"""Small functions whose leave-one-out, Shapley values and interactions are known in closed form; removed means zero.

Interactions are the pairwise Shapley interaction index (Grabisch & Roubens 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.core.values import Values, as_numpy


@dataclass(frozen=True)
class Answers:
    """What the relevance of every feature should be, by two readings, and how far pairs of them act together."""

    loo: Values
    """f(x) - f(x without i): examples x features"""
    shapley: Values
    """examples x features"""
    interactions: Values
    """examples x features x features, 0 on the diagonal"""


class KnownModel(nn.Module):
    """A function of the features with known answers."""

    def answers(self, features: Tensor) -> Answers:
        """Return the known answers for every example, or raise where the closed form does not hold."""
        rows = [self.answers_of(row) for row in as_numpy(features)]
        return Answers(*(np.stack(column) for column in zip(*rows, strict=True)))

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return leave-one-out, Shapley values and interactions at one point."""
        raise NotImplementedError


class Logical(KnownModel):
    """sum_T c(|T|) prod_T x_i over all sets T of features: AND, OR and XOR are such sums on zeros and ones.

    With e_k the elementary symmetric polynomials of the others, LOO_i = x_i sum_k c(k+1) e_k. A product of k+1
    factors is shared by as many: Shapley_i = x_i sum_k c(k+1) e_k / (k+1), and I_ij = x_i x_j sum_k c(k+2) e_k / (k+1).
    """

    def coefficients(self, count: int) -> Sequence[float]:
        """Return c(1), ..., c(count)."""
        raise NotImplementedError

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers, which hold for all real numbers."""
        count = len(x)
        c = np.array(self.coefficients(count))
        loo, shapley, interactions = np.zeros(count), np.zeros(count), np.zeros((count, count))
        for i in range(count):
            e = symmetric_polynomials(np.delete(x, i))
            loo[i] = x[i] * (c * e).sum()
            shapley[i] = x[i] * (c * e / np.arange(1, count + 1)).sum()
            for j in range(i):
                e = symmetric_polynomials(np.delete(x, [j, i]))
                share = (c[1:] * e / np.arange(1, count)).sum()
                interactions[i, j] = interactions[j, i] = x[i] * x[j] * share
        return loo, shapley, interactions


def symmetric_polynomials(x: Values) -> Values:
    """Return e_0, ..., e_n of n numbers: the coefficients of prod_i (1 + x_i t)."""
    e = np.ones(1)
    for value in x:
        e = np.convolve(e, [1.0, value])
    return e


def product(factors: Sequence[Tensor]) -> Tensor:
    """Return ((a b) c) d ..."""
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


class And(Logical):
    """x_1 x_2 ... x_n."""

    def forward(self, features: Tensor) -> Tensor:
        """Return the product of all features."""
        return product(features.unbind(1))

    def coefficients(self, count: int) -> Sequence[float]:
        """Only all features together count."""
        return [*[0.0] * (count - 1), 1.0]


class Or(Logical):
    """1 - (1 - x_1) (1 - x_2) ... (1 - x_n)."""

    def forward(self, features: Tensor) -> Tensor:
        """Return 1 minus the product of what is missing."""
        return 1 - product((1 - features).unbind(1))

    def coefficients(self, count: int) -> Sequence[float]:
        """Return alternating signs."""
        return [(-1.0) ** k for k in range(count)]


class Xor(Logical):
    """(1 - (1 - 2 x_1) (1 - 2 x_2) ... (1 - 2 x_n)) / 2: the parity of zeros and ones."""

    def forward(self, features: Tensor) -> Tensor:
        """Return the parity."""
        return 0.5 * (1 - product((1 - 2 * features).unbind(1)))

    def coefficients(self, count: int) -> Sequence[float]:
        """Return powers of -2."""
        return [(-2.0) ** k for k in range(count)]


class Duplicates(KnownModel):
    """max(x_1, ..., x_n) of numbers >= 0, written with ReLUs: the same evidence several times, of which one suffices.

    An airport game: the step from the (j-1)-th to the j-th smallest value is shared by all that reach it.
    """

    def forward(self, features: Tensor) -> Tensor:
        """Return the largest feature, or 0."""
        largest = torch.relu(features[:, 0])
        for value in features.unbind(1)[1:]:
            largest = largest + torch.relu(value - largest)
        return largest

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers for numbers that are not negative."""
        if (x < 0).any():
            raise InputError("duplicate evidence has known answers for features that are not negative.")
        count, order = len(x), x.argsort(kind="stable")
        steps = np.diff(np.concatenate([[0.0], x[order]]))
        sharing = np.arange(count, 0, -1)
        rank = order.argsort(kind="stable")
        shapley = np.cumsum(steps / sharing)[rank]
        together = np.cumsum(np.concatenate([steps[:-1] / (sharing[:-1] - 1), [0.0]]))
        interactions = -together[np.minimum.outer(rank, rank)]
        np.fill_diagonal(interactions, 0.0)
        loo = np.zeros(count)
        loo[order[-1]] = steps[-1]
        return loo, shapley, interactions


class Saturation(KnownModel):
    """1 - relu(1 - sum_i x_i) (after Shrikumar et al. 2017): more evidence than is needed, in equal parts.

    Of a game of the number of players alone, v(0), ..., v(n): LOO = v(n) - v(n-1), Shapley = (v(n) - v(0)) / n, and the
    interaction of each pair is (v(n) - v(n-1) - v(1) + v(0)) / (n - 1).
    """

    def forward(self, features: Tensor) -> Tensor:
        """Return the sum of the features, at most 1."""
        return 1 - torch.relu(1 - features.sum(dim=1))

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers for features that are all the same."""
        if np.ptp(x) > 0:
            raise InputError("saturation has known answers for features that are all the same.")
        count = len(x)
        v = np.minimum(1.0, np.arange(count + 1) * x[0])
        pair = (v[-1] - v[-2] - v[1] + v[0]) / max(1, count - 1)
        interactions = np.full((count, count), pair)
        np.fill_diagonal(interactions, 0.0)
        return np.full(count, v[-1] - v[-2]), np.full(count, (v[-1] - v[0]) / count), interactions


class Conflict(KnownModel):
    """(x_1 + ... + x_(n-1)) (1 - x_n): the last feature speaks against all others (XAI-Units, Lee et al. 2025)."""

    def forward(self, features: Tensor) -> Tensor:
        """Return what is left of the evidence."""
        return features[:, :-1].sum(dim=1) * (1 - features[:, -1])

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers, which hold for all real numbers: each product is shared by its two factors."""
        evidence, against = x[:-1], x[-1]
        loo = np.append(evidence * (1 - against), -against * evidence.sum())
        shapley = np.append(evidence * (1 - against / 2), -against / 2 * evidence.sum())
        interactions = np.zeros((len(x), len(x)))
        interactions[-1, :-1] = interactions[:-1, -1] = -evidence * against
        return loo, shapley, interactions


class Shattered(KnownModel):
    """sum_i g(x_i), where g is close to the identity and its slope jumps between 1 + slope and 1 - slope at each step.

    After "shattered gradients" (Balduzzi et al. 2017; XAI-Units). A sum of ReLUs, right for 0 <= x <= teeth * step.
    """

    def __init__(self, step: float, slope: float, teeth: int) -> None:
        super().__init__()
        self.step, self.slope, self.teeth = step, slope, teeth

    def forward(self, features: Tensor) -> Tensor:
        """Return the sum of g over the features."""
        value = (1 + self.slope) * torch.relu(features)
        for tooth in range(1, self.teeth):
            value = value + (-1) ** tooth * 2 * self.slope * torch.relu(features - tooth * self.step)
        return value.sum(dim=1)

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers: each feature's own value, and no interaction."""
        if (x < 0).any() or (x > self.teeth * self.step).any():
            raise InputError(f"shattered gradients are between 0 and {self.teeth * self.step:g}.")
        rest = x % (2 * self.step)
        value = x + self.slope * np.minimum(rest, 2 * self.step - rest)
        return value, value, np.zeros((len(x), len(x)))


class Uncertainty(KnownModel):
    """softmax(x_1 + u, x_2 + u)[0], u the sum of all other features: what raises every class alike changes nothing.

    After the uncertainty model of XAI-Units: a function of two players, and null players.
    """

    def forward(self, features: Tensor) -> Tensor:
        """Return the probability of the first of two classes."""
        common = features[:, 2:].sum(dim=1, keepdim=True)
        return torch.softmax(features[:, :2] + common, dim=1)[:, 0]

    def answers_of(self, x: Values) -> tuple[Values, Values, Values]:
        """Return the answers, which hold for all real numbers."""
        nothing, first, second, both = (1 / (1 + np.exp(-z)) for z in (0.0, x[0], -x[1], x[0] - x[1]))
        loo, shapley, interactions = np.zeros(len(x)), np.zeros(len(x)), np.zeros((len(x), len(x)))
        loo[:2] = both - second, both - first
        shapley[:2] = (both - second + first - nothing) / 2, (both - first + second - nothing) / 2
        interactions[0, 1] = interactions[1, 0] = both - first - second + nothing
        return loo, shapley, interactions


MODELS: dict[str, Any] = {
    "and": And,
    "or": Or,
    "xor": Xor,
    "duplicates": Duplicates,
    "saturation": Saturation,
    "conflict": Conflict,
    "uncertainty": Uncertainty,
}
