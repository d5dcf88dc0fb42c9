"""What a function does not depend on, or cannot tell apart, as far as random inputs can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.games import EQUAL
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

DRAWS = 24
SCALES = (1.0, 4.0, 16.0)
"""Contexts are normal draws of these sizes in turn, so that the far side of a ReLU is seen too."""
MOST_FEATURES = 64
MOST_ROWS = 64
"""Of a forward pass; a subject with so few features is small."""


def ignored_features(side: SideView) -> Flags:
    """Tell on which features the target does not depend, in any of the contexts: examples x features."""
    return side.bench.remember(("ignored",), lambda: _ignored(side))


def interchangeable_features(side: SideView) -> list[tuple[int, int]]:
    """Return the pairs of features that may be swapped in every context without any change of the target."""
    return side.bench.remember(("interchangeable",), lambda: _interchangeable(side))


def _ignored(side: SideView) -> Flags:
    contexts = _contexts(side)
    others = contexts.flip(0)
    plain = _outputs(side, contexts)
    columns = []
    for feature in range(contexts.shape[2]):
        changed = contexts.clone()
        changed[:, :, feature] = others[:, :, feature]
        columns.append(_is_same(plain, _outputs(side, changed)))
    return np.stack(columns, axis=1)


def _interchangeable(side: SideView) -> list[tuple[int, int]]:
    contexts = _contexts(side)
    plain = _outputs(side, contexts)
    length = contexts.shape[2]
    pairs = []
    for first in range(length):
        for second in range(first + 1, length):
            order = list(range(length))
            order[first], order[second] = second, first
            if _is_same(plain, _outputs(side, contexts[:, :, order])).all():
                pairs.append((first, second))
    return pairs


def _contexts(side: SideView) -> Tensor:
    """Return random features for every example: draws x examples x features, and a width if there is one."""
    import torch

    features = side.inputs.features
    if features.shape[1] > MOST_FEATURES:
        raise InputError(
            f"{features.shape[1]} features are too many to try each; at most {MOST_FEATURES} are. State the axiom on a "
            "smaller subject."
        )
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(DRAWS, *features.shape, generator=generator, dtype=torch.float64)
    size = torch.tensor([SCALES[draw % len(SCALES)] for draw in range(DRAWS)], dtype=torch.float64)
    drawn *= size.reshape(-1, *(1,) * features.dim())
    return drawn.to(features)


def _outputs(side: SideView, contexts: Tensor) -> Values:
    """Return the target in each context: draws x examples."""
    import torch

    from axioms.subjects.built import outputs_of

    draws, count = contexts.shape[:2]
    example = torch.arange(count, device=contexts.device).repeat(draws)
    inputs = side.inputs.select(example).with_features(contexts.flatten(0, 1))
    outputs = outputs_of(side.model, inputs, max(side.batch_size, MOST_ROWS))
    return as_numpy(side.target.select(example)(outputs)).reshape(draws, count)


def _is_same(left: Values, right: Values) -> Flags:
    return np.asarray((np.abs(left - right) <= EQUAL * np.maximum(np.abs(left), 1.0)).all(axis=0))
