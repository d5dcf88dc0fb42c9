"""Walks: units go one after another, most or least relevant first, and the model is asked after each step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Numbers, Values, as_numpy
from axioms.properties.units import Flags, Units
from axioms.properties.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

GRID = tuple(0.05 * step for step in range(21))
"""The shares of units removed at which curves are kept: 0, 5%, ..., 100%."""


Answers = dict[bytes, tuple[float, ...]]
"""What the model said, by question: which example, and which of its features are gone."""


@dataclass(frozen=True)
class Curve:
    """One example's way: from nothing removed to everything."""

    share: Values
    """of its units that are removed: 0, ..., 1"""
    value: Values
    """of the target"""
    probability: Values
    """of the class that the target is about"""


@dataclass(frozen=True)
class Walks:
    """Both ways of every example. One without any unit has a curve of one point, at 0."""

    most_first: list[Curve]
    least_first: list[Curve]


def walks(side: SideView, *, step: int, chunk: int | None) -> Walks:
    """Remove `step` units at a time in the order of their relevance, ties from left to right, until none is left.

    The axioms that need a walk share it, and steps that leave the same features share a forward pass.
    """
    units, orders = _ordered(side, step, chunk)
    key = ("walks", step, *(each.tobytes() for each in orders), units.number.tobytes())
    memory = side.side.memory
    if key not in memory:
        memory[key] = _walks(side, units, orders, step, {})
    found: Walks = memory[key]
    return found


def related_walks(side: SideView, *, step: int, chunk: int | None, answers: Answers) -> Walks:
    """The same for one of many orders that differ little: what the model was asked for another is not asked again.

    Not kept beside the others: the last digit of an answer depends on what else was asked with it, and it should not
    depend on which checks were run before.
    """
    return _walks(side, *_ordered(side, step, chunk), step, answers)


def _ordered(side: SideView, step: int, chunk: int | None) -> tuple[Units, list[Numbers]]:
    """The units of each example, and their ranks with the most relevant first and with the least relevant first."""
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
    """The place of each unit when the lowest goes first: examples x units; units that are none come last."""
    order = np.where(counted, scores, np.inf).argsort(axis=1, kind="stable")
    return order.argsort(axis=1, kind="stable")


def stops(count: int, step: int) -> list[int]:
    """How many units are gone after each step."""
    return [*range(step, count, step), count] if count else []


def _walks(side: SideView, units: Units, orders: list[Numbers], step: int, answers: Answers) -> Walks:
    ways: list[list[Curve]] = [[], []]
    size, total = side.side.batch_size, len(units.number)
    at_start = [as_numpy(target(side.side.outputs)) for target in _targets(side)]
    places = [_places(units, order) for order in orders]
    for first in range(0, total, size):
        rows = range(first, min(first + size, total))
        ends = [stops(int(units.counts[row]), step) for row in rows]
        steps = [(way, row, end) for way in (0, 1) for row, each in zip(rows, ends, strict=True) for end in each]
        removed = np.array([places[way][row] < end for way, row, end in steps], dtype=bool)
        example = np.array([row for _, row, _ in steps], dtype=np.int64)
        found = _asked(side, example, removed, answers, partial(_report, side, rows, total))
        bounds = pairwise(np.cumsum([0, *(len(each) for each in ends * 2)]))
        for way in (0, 1):
            for row, end in zip(rows, ends, strict=True):
                low, high = next(bounds)
                share = np.array([0, *end]) / max(1, int(units.counts[row]))
                value, probability = (
                    np.concatenate([start[row : row + 1], values[low:high]])
                    for start, values in zip(at_start, found, strict=True)
                )
                ways[way].append(Curve(share, value, probability))
    return Walks(*ways)


def _places(units: Units, order: Numbers) -> Numbers:
    """When each feature goes: examples x features; never, if it is no candidate."""
    place = np.take_along_axis(order, np.maximum(units.number, 0), axis=1)
    return np.where(units.number < 0, np.iinfo(np.int64).max, place)


def _asked(side: SideView, example: Numbers, removed: Flags, answers: Answers, progress: Any) -> list[Values]:
    """The targets for each example without these features; the same question is put once."""
    import torch

    from axioms.model.probe import probe

    inputs, model, targets = side.side.inputs, side.side.model, _targets(side)
    questions = [bytes(row) for row in np.packbits(removed, axis=1)] if len(removed) else []
    keys = [number.to_bytes(8) + question for number, question in zip(example.tolist(), questions, strict=True)]
    fresh = sorted({key: at for at, key in enumerate(keys) if key not in answers}.values(), key=lambda at: keys[at])
    if fresh:

        def placed(array: Any) -> Tensor:
            return torch.from_numpy(array[fresh]).to(inputs.features.device)

        with model.at_rest():
            found = probe(model, inputs, targets, placed(example), placed(removed), progress=progress)
        said = zip(*(as_numpy(each).tolist() for each in found), strict=True)
        answers.update(zip((keys[at] for at in fresh), said, strict=True))
    return [np.array([answers[key][place] for key in keys]) for place in range(len(targets))]


def _targets(side: SideView) -> list[Any]:
    from axioms.model.targets import Probability

    return [side.target, Probability(side.target.index)]


def _report(side: SideView, rows: range, total: int, done: int, of: int) -> None:
    side.progress(rows.start + len(rows) * done // of, total)
