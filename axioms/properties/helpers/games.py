"""The game of a model: its output for every subset of the features, the others removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

MOST_PLAYERS = 12
"""2^12 forward passes for each example; more is a matter of sampling."""
EQUAL = 1e-12
"""Relative to the largest value; two values of a game that are closer differ by rounding alone."""


def coalitions(players: int) -> Flags:
    """Return every subset of the players: 2^players x players, row s has player i where bit i of s is set."""
    if players > MOST_PLAYERS:
        raise InputError(f"all subsets of {players} features are too many; at most {MOST_PLAYERS} can be tried.")
    return (np.arange(2**players)[:, None] >> np.arange(players)) & 1 == 1


def game(side: SideView) -> Values:
    """Return the target for every subset of the features, the others removed as the subject says: examples x 2^n."""
    return side.bench.remember(("game",), lambda: _game(side))


def _game(side: SideView) -> Values:
    import torch

    from axioms.model.probe import probe

    inputs, count = side.inputs, len(side.inputs)
    removed = ~coalitions(int(inputs.features.shape[1]))
    device = inputs.features.device
    example = torch.arange(count, device=device).repeat_interleave(len(removed))
    gone: Tensor = torch.from_numpy(removed).to(device).repeat(count, 1)
    with side.model.at_rest():
        (values,) = probe(side.model, inputs, [side.target], example, gone)
    return as_numpy(values).reshape(count, -1)


def marginals(values: Values, player: int) -> Values:
    """Return what the player adds to every subset without it: ... x 2^(n - 1)."""
    without = np.nonzero(np.arange(values.shape[-1]) >> player & 1 == 0)[0]
    return values[..., without | 1 << player] - values[..., without]


def is_nothing(differences: Values, values: Values) -> Flags:
    """Tell, for each example, whether all of its differences are rounding of the game's values."""
    return np.abs(differences).max(axis=-1) <= EQUAL * np.abs(values).max(axis=-1)
