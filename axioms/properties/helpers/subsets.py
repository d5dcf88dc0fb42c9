"""Random sets of units that are removed together, and what that takes from the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.model.targets import Target


@dataclass(frozen=True)
class Removals:
    """Sets of units of every example, and what the method and the model say of each."""

    chosen: Flags
    """examples x sets x units: the units that are removed"""
    relevance: Values
    """examples x sets: the sum of their relevance"""
    drop: Values
    """examples x sets: f(x) - f(x without them)"""


def random_removals(side: SideView, *, samples: int, seed: int, size: int | float | None = None) -> Removals:
    """Return `samples` sets of every example: of `size` units, or that share of its units and at least one.

    Without a size each unit is in a set with probability one half.

    The sets depend on the seed, the example's place and its number of units, and on nothing else, so that all methods
    are asked the same; what the model answers is computed once for all of them.
    """
    if samples < 2:
        raise InputError(f"a mean over random removals needs at least 2 samples, not {samples}.")
    units = side.units()
    if isinstance(size, int) and not 1 <= size <= int(units.counts.min()):
        raise InputError(f"sets of {size} units do not fit an example with {int(units.counts.min())} of them.")
    chosen = np.stack(
        [
            _draw(np.random.default_rng([seed, place]), int(count), units.counted.shape[1], samples, size)
            for place, count in enumerate(units.counts, side.inputs.first)
        ]
    )
    what = ("removals", samples, seed, size)
    drop = side.bench.remember(what, lambda: drops(side, chosen, side.target))
    scores = units.sums(side.scores)
    return Removals(chosen, (chosen * scores[:, None, :]).sum(axis=2), drop)


def _draw(random: np.random.Generator, count: int, width: int, samples: int, size: int | float | None) -> Flags:
    chosen = np.zeros((samples, width), dtype=bool)
    if isinstance(size, float):
        size = max(1, round(size * count))
    for row in chosen:
        if size is None:
            row[:count] = random.random(count) < 0.5
        else:
            row[random.choice(count, size, replace=False)] = True
    return chosen


def drops(side: SideView, chosen: Flags, target: Target) -> Values:
    """Return what removing each set of units takes from a target: examples x sets."""
    import torch

    from axioms.model.probe import probe
    from axioms.model.removals import BY_MASK, last_resort

    units, device = side.units(), side.inputs.features.device
    count, sets = chosen.shape[:2]
    rows = zip(chosen, units.number, strict=True)
    removed = np.stack([of_example[:, number] & (number >= 0) for of_example, number in rows])
    example = torch.arange(count, device=device).repeat_interleave(sets)
    gone = torch.from_numpy(removed.reshape(count * sets, -1)).to(device)
    if side.inputs.removal.kind in BY_MASK:
        gone &= ~last_resort(side.inputs.select(example), gone)
    # A set that was drawn twice is asked once: rounding would rank two answers to one question.
    asked, place = torch.cat((example.unsqueeze(1), gone.long()), dim=1).unique(dim=0, return_inverse=True)
    with side.model.at_rest():
        (values,) = probe(side.model, side.inputs, [target], asked[:, 0], asked[:, 1:].bool())
    return as_numpy(target(side.side.outputs))[:, None] - as_numpy(values[place]).reshape(count, sets)
