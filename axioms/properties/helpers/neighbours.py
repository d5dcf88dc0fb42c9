"""Inputs near an input, and the relevance there for the same target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.seeds import combine_seeds
from axioms.core.values import Values, as_numpy
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.model.inputs import Inputs

By = Literal["noise", "tokens"]
"""What makes a neighbour: noise on every number of the features, or another token in the place of one."""


@dataclass(frozen=True)
class Neighbour:
    """Inputs near others, and what the method says of them."""

    inputs: Inputs
    scores: Values

    @property
    def features(self) -> Values:
        """The features of the neighbour: examples x all their numbers."""
        return as_numpy(self.inputs.features.flatten(1))


def neighbours(
    side: SideView, *, samples: int, seed: int, by: By = "noise", radius: float = 0.02, nearest: int = 5
) -> Iterator[Neighbour]:
    """Yield `samples` neighbours of every example.

    By noise, they are uniform in the box of that radius; of texts, around their embeddings. By tokens, one candidate of
    the text, drawn anew for each sample, becomes one of the `nearest` tokens to it by the distance of their embeddings.
    What is drawn depends on the seed, the sample and the example's place in the data, and on nothing else.
    """
    if radius <= 0 or samples < 1 or nearest < 1:
        raise InputError(
            "a neighbourhood needs a radius above 0, at least one nearest token and at least one sample, "
            f"not {radius:g}, {nearest} and {samples}."
        )
    for sample in range(samples):
        random = generators(side.inputs, seed, sample)
        inputs = _noisy(side.inputs, radius, random) if by == "noise" else _substituted(side, nearest, random)
        yield Neighbour(inputs, side.rerun(inputs=inputs))


def generators(inputs: Inputs, seed: int, sample: int) -> list[torch.Generator]:
    """Return a source of random numbers for every example."""
    import torch

    places = range(inputs.first, inputs.first + len(inputs))
    return [torch.Generator().manual_seed(combine_seeds(seed, sample, place)) for place in places]


def without_padding(inputs: Inputs, noise: Tensor) -> Tensor:
    """Return noise like the features of the inputs, none of it on padding."""
    there = inputs.attended
    noise = noise.to(inputs.features)
    return noise if there is None else noise * there.reshape(*there.shape, *[1] * (noise.dim() - 2))


def _noisy(inputs: Inputs, radius: float, random: list[torch.Generator]) -> Inputs:
    import torch

    shape = inputs.features.shape[1:]
    rows = [torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu") for generator in random]
    noise = radius * (2 * torch.stack(rows) - 1)
    return inputs.with_features(inputs.features + without_padding(inputs, noise))


def _substituted(side: SideView, nearest: int, random: list[torch.Generator]) -> Inputs:
    """Return the inputs with one token of each text replaced by a near one; a text without candidates stays."""
    import torch

    from axioms.model.inputs import EMBEDDINGS, embed, input_embedding

    inputs = side.inputs
    if inputs.slot != EMBEDDINGS:
        raise InputError("`by: tokens` is for texts given as `input_ids`; use `by: noise` here.")
    weight: Tensor = input_embedding(side.model.module).weight  # type: ignore[assignment]
    ids = inputs.fixed["input_ids"].clone()
    for row, generator in zip(range(len(inputs)), random, strict=True):
        places = torch.arange(ids.shape[1])
        places = places if inputs.candidates is None else places[inputs.candidates[row].cpu()]
        if len(places):
            place = int(places[torch.randint(len(places), (), generator=generator)])
            near = _nearest(weight, int(ids[row, place]), nearest)
            ids[row, place] = near[torch.randint(nearest, (), generator=generator)]
    fixed = {**inputs.fixed, "input_ids": ids}
    return replace(inputs, features=embed(side.model.module, fixed).to(inputs.features), fixed=fixed)


def _nearest(weight: Tensor, token: int, count: int) -> Tensor:
    """Return the tokens whose embeddings are closest to that of a token, itself not among them."""
    if count >= len(weight):
        raise InputError(f"a vocabulary of {len(weight)} tokens has no {count} others near each of them.")
    distance = (weight - weight[token]).norm(dim=1)
    distance[token] = float("inf")
    return distance.topk(count, largest=False).indices


def norm(values: Values) -> Values:
    """Return the Euclidean norm of every row."""
    return np.sqrt((values**2).sum(axis=1))
