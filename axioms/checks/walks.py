"""Walks: units go one after another, most or least relevant first, and the model is asked after each step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from axioms.checks.units import Flags, Units
from axioms.checks.views import SideView, as_numpy
from axioms.errors import InputError
from axioms.lazy import np
from axioms.measure import Numbers, Values

if TYPE_CHECKING:
    from torch import Tensor

GRID = tuple(0.05 * step for step in range(21))
"""The shares of units removed at which curves are kept: 0, 5%, ..., 100%."""


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
    if step < 1:
        raise InputError(f"removing units in order needs a step of at least 1, not {step}.")
    if chunk is not None and chunk < 1:
        raise InputError(f"a chunk has at least one token, not {chunk}.")
    units = side.units(chunk)
    scores = units.sums(side.scores)
    if not np.isfinite(scores).all():
        raise InputError("the relevance contains NaN or infinity, so that there is no order to remove units in.")
    orders = [ranks(-scores, units.counted), ranks(scores, units.counted)]
    key = ("walks", step, *(each.tobytes() for each in orders), units.number.tobytes())
    memory = side.side.memory
    if key not in memory:
        memory[key] = _walks(side, units, orders, step)
    found: Walks = memory[key]
    return found


def ranks(scores: Values, counted: Flags) -> Numbers:
    """The place of each unit when the lowest goes first: examples x units; units that are none come last."""
    order = np.where(counted, scores, np.inf).argsort(axis=1, kind="stable")
    return order.argsort(axis=1, kind="stable")


def stops(count: int, step: int) -> list[int]:
    """How many units are gone after each step."""
    return [*range(step, count, step), count] if count else []


def _walks(side: SideView, units: Units, orders: list[Numbers], step: int) -> Walks:
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
        found = _asked(side, example, removed, partial(_report, side, rows, total))
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


def _asked(side: SideView, example: Numbers, removed: Flags, progress: Any) -> list[Values]:
    """The targets for each example without these features; the same question is put once."""
    import torch

    from axioms.subjects.probe import probe

    if not len(example):
        return [np.zeros(0) for _ in _targets(side)]
    questions = np.concatenate([example[:, None], np.packbits(removed, axis=1)], axis=1)
    _, first, answer = np.unique(questions, axis=0, return_index=True, return_inverse=True)
    inputs, model = side.side.inputs, side.side.model

    def placed(array: Any) -> Tensor:
        return torch.from_numpy(array[first]).to(inputs.features.device)

    with model.at_rest():
        found = probe(model, inputs, _targets(side), placed(example), placed(removed), progress=progress)
    return [as_numpy(each)[answer.reshape(-1)] for each in found]


def _targets(side: SideView) -> list[Any]:
    from axioms.subjects.targets import Probability

    return [side.target, Probability(side.target.index)]


def _report(side: SideView, rows: range, total: int, done: int, of: int) -> None:
    side.progress(rows.start + len(rows) * done // of, total)
