"""Inputs near an input, and the relevance there for the same target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.model.inputs import Inputs


@dataclass(frozen=True)
class Neighbour:
    """Inputs with noise of a stated size on every number of their features, and what the method says of them."""

    inputs: Inputs
    scores: Values

    @property
    def features(self) -> Values:
        """The noisy features: examples x all their numbers."""
        return as_numpy(self.inputs.features.flatten(1))


def neighbours(side: SideView, *, radius: float, samples: int, seed: int) -> Iterator[Neighbour]:
    """Yield `samples` neighbours of every example, uniform in the box of that radius; of texts, their embeddings.

    The noise depends on the seed, the sample and the example's place in the data, and on nothing else.
    """
    if radius <= 0 or samples < 1:
        raise InputError(f"a neighbourhood needs a radius above 0 and at least one sample, not {radius:g}, {samples}.")
    import torch

    features, first = side.inputs.features, side.inputs.first
    for sample in range(samples):
        rows = []
        for place in range(first, first + len(side.inputs)):
            generator = torch.Generator().manual_seed((seed * 1_000_003 + sample) * 1_000_003 + place)
            rows.append(torch.rand(features.shape[1:], generator=generator, dtype=torch.float64))
        noise = radius * (2 * torch.stack(rows) - 1)
        inputs = side.inputs.with_features(features + noise.to(features))
        yield Neighbour(inputs, side.rerun(inputs=inputs))


def norm(values: Values) -> Values:
    """Return the Euclidean norm of every row."""
    return np.sqrt((values**2).sum(axis=1))
