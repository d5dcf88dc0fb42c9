"""Walks: units are removed one after another, most or least relevant first, with a forward pass after each step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Numbers, Values, as_numpy
from axioms.properties.helpers.units import Flags, Units
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

GRID = tuple(0.05 * step for step in range(21))
"""The shares of removed units at which curves are recorded: 0, 5%, ..., 100%."""
Answers = dict[bytes, tuple[float, ...]]
"""The model's targets by question: which example, and which of its features are removed."""


@dataclass(frozen=True)
class Curve:
    """What the model says of one example, from nothing removed to everything."""

    share: Values
    """The share of its units that are removed: 0, ..., 1."""
    value: Values
    """The value of the target."""
    probability: Values
    """The probability of the class that the target is about."""


@dataclass(frozen=True)
class Walks:
    """Both ways of every example. An empty one, without any unit, has a curve of one point, at 0."""

    most_first: list[Curve]
    least_first: list[Curve]

    @property
    def empty(self) -> Flags:
        """Which examples have no unit that could be removed."""
        return np.array([len(curve.share) < 2 for curve in self.most_first])


def walks(side: SideView, *, step: int, chunk: int | None) -> Walks:
    """Remove `step` units at a time in the order of their relevance, ties from left to right, until none is left.

    The axioms that need a walk share it, and steps that leave the same features share a forward pass.
    """
    units, orders = _ordered(side, step, chunk)
    what = ("walks", step, *(order.tobytes() for order in orders), units.number.tobytes())
    return side.bench.remember(what, lambda: _walks(side, units, orders, step, {}))


def related_walks(side: SideView, *, step: int, chunk: int | None, answers: Answers) -> Walks:
    """Walk in one of many orders that differ little: a question that another order has put is not put again.

    Not remembered beside the other walks: the last digit of an answer depends on what else is in its batch, and it
    should not depend on which checks were run before.
    """
    return _walks(side, *_ordered(side, step, chunk), step, answers)


def _ordered(side: SideView, step: int, chunk: int | None) -> tuple[Units, list[Numbers]]:
    """Return the units of each example, and their ranks, the most relevant first and the least relevant first."""
    if step < 1:
        raise InputError(f"removing units in order needs a step of at least 1, not {step}.")
    if chunk is not None and chunk < 1:
        raise InputError(f"a chunk has at least one token, not {chunk}.")
    units = side.units(chunk)
    scores = units.sums(side.scores)
    if not np.isfinite(scores).all():
        raise InputError("the relevance contains NaN or infinity, so that there is no order to remove units in.")
    return units, [ranks(-scores, units.counted), ranks(scores, units.counted)]


def ranks(scores: Values, counted: Flags) -> Numbers:
    """Return the place of each unit when the lowest goes first: examples x units; places that are no unit come last."""
    order = np.where(counted, scores, np.inf).argsort(kind="stable")
    return order.argsort(kind="stable")


def stops(count: int, step: int) -> list[int]:
    """Return how many units are removed after each step."""
    return [*range(step, count, step), count] if count else []


def _walks(side: SideView, units: Units, orders: list[Numbers], step: int, answers: Answers) -> Walks:
    ways: list[list[Curve]] = [[], []]
    size, total = side.batch_size, len(units.number)
    at_start = [as_numpy(target(side.side.outputs)) for target in _targets(side)]
    places = [_places(units, order) for order in orders]
    for first in range(0, total, size):
        rows = range(first, min(first + size, total))
        ends = [stops(int(units.counts[row]), step) for row in rows]
        steps = [
            (way, row, end) for way in (0, 1) for row, row_ends in zip(rows, ends, strict=True) for end in row_ends
        ]
        removed = np.array([places[way][row] < end for way, row, end in steps], dtype=bool)
        example = np.array([row for _, row, _ in steps], dtype=np.int64)
        answered = _ask(side, example, removed, answers, partial(_report, side, rows, total))
        bounds = pairwise(np.cumsum([0, *(len(row_ends) for row_ends in ends * 2)]))
        for way in (0, 1):
            for row, end in zip(rows, ends, strict=True):
                low, high = next(bounds)
                share = np.array([0, *end]) / max(1, int(units.counts[row]))
                value, probability = (
                    np.concatenate([start[row : row + 1], values[low:high]])
                    for start, values in zip(at_start, answered, strict=True)
                )
                ways[way].append(Curve(share, value, probability))
    return Walks(*ways)


def _places(units: Units, order: Numbers) -> Numbers:
    """Return when each feature is removed: examples x features; never, if it is no candidate."""
    place = order[np.arange(len(order))[:, None], np.maximum(units.number, 0)]
    return np.where(units.number < 0, np.iinfo(np.int64).max, place)


def _ask(side: SideView, example: Numbers, removed: Flags, answers: Answers, progress: Any) -> list[Values]:
    """Return the targets for each example without these features; the same question is put once."""
    import torch

    from axioms.model.probe import probe

    inputs, model, targets = side.inputs, side.model, _targets(side)
    questions = [bytes(row) for row in np.packbits(removed, axis=1)] if len(removed) else []
    keys = [number.to_bytes(8) + question for number, question in zip(example.tolist(), questions, strict=True)]
    fresh = sorted({key: at for at, key in enumerate(keys) if key not in answers}.values(), key=lambda at: keys[at])
    if fresh:

        def placed(array: Any) -> Tensor:
            return torch.from_numpy(array[fresh]).to(inputs.features.device)

        with model.at_rest():
            values = probe(model, inputs, targets, placed(example), placed(removed), progress=progress)
        rows = zip(*(as_numpy(column).tolist() for column in values), strict=True)
        answers.update(zip((keys[at] for at in fresh), rows, strict=True))
    return [np.array([answers[key][place] for key in keys]) for place in range(len(targets))]


def _targets(side: SideView) -> list[Any]:
    from axioms.model.targets import Probability

    return [side.target, Probability(side.target.index)]


def _report(side: SideView, rows: range, total: int, done: int, of: int) -> None:
    side.bench.progress(rows.start + len(rows) * done // of, total)
