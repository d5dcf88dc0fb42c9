"""Neighbours are near, are the seed's, and leave padding alone."""

from __future__ import annotations

import importlib
import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import AXIOMS
from axioms.core.values import as_numpy
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.properties.helpers.neighbours import generators, neighbours, norm, without_padding
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import points

BERT = tiny(architecture="bert")
IDS = torch.randint(3, 40, (3, 5), generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])


def side(inputs: Inputs) -> Any:
    """A side whose method gives each feature its own sum."""

    def rerun(inputs: Inputs) -> Any:
        return as_numpy(inputs.features.flatten(2).sum(2) if inputs.features.dim() > 2 else inputs.features)

    return SimpleNamespace(inputs=inputs, rerun=rerun, model=Model(BERT))


def text(special: str = "include") -> Inputs:
    mask = torch.zeros_like(MASK)
    mask[:, 0] = 1
    given = {"input_ids": IDS, "attention_mask": MASK, "special_tokens_mask": mask | (MASK == 0).long()}
    return read_inputs(BERT, given, {"special_tokens": special})


@pytest.mark.parametrize("radius", [0.02, 0.5])
def test_noise_is_in_a_box_and_not_on_padding(radius: float) -> None:
    inputs = text()
    found = list(neighbours(side(inputs), samples=3, seed=1, radius=radius))
    assert len(found) == 3
    for neighbour in found:
        noise = neighbour.inputs.features - inputs.features
        there = noise[MASK == 1]
        assert float(there.abs().max()) <= radius
        assert float(there.max()) > 0.8 * radius
        assert float(there.min()) < -0.8 * radius
        assert abs(float(there.mean())) < 0.2 * radius
        assert not bool(noise[MASK == 0].any())
        assert neighbour.inputs.features.dtype == inputs.features.dtype
        assert neighbour.features.shape == (3, 5 * inputs.features.shape[2])
        np.testing.assert_allclose(neighbour.scores, as_numpy(neighbour.inputs.features.sum(2)))
    first, second = (neighbour.inputs.features for neighbour in found[:2])
    assert not torch.equal(first, second)


def test_what_is_drawn_belongs_to_the_seed_the_sample_and_the_place() -> None:
    whole = Inputs(torch.zeros(4, 3), first=10)

    def drawn(inputs: Inputs, seed: int) -> list[Tensor]:
        return [neighbour.inputs.features for neighbour in neighbours(side(inputs), samples=2, seed=seed)]

    again, other, part = drawn(whole, 0), drawn(whole, 1), drawn(whole.rows(1, 3), 0)
    for sample, one in enumerate(drawn(whole, 0)):
        assert torch.equal(one, again[sample])
        assert not torch.equal(one, other[sample])
        assert torch.equal(one[1:3], part[sample])
        assert one.dtype == torch.float32
    for seed, sample in ((0, 0), (0, 1), (1, 0), (1, 1)):
        states = [random.initial_seed() for random in generators(whole, seed, sample)]
        assert states == [(seed * 1_000_003 + sample) * 1_000_003 + place for place in range(10, 14)]


def test_noise_on_padding_is_none() -> None:
    noise = torch.ones(3, 5, 2, dtype=torch.float64)
    inputs = Inputs(torch.zeros(3, 5, 2), {"attention_mask": MASK})
    found = without_padding(inputs, noise)
    assert found.dtype == torch.float32
    assert torch.equal(found, MASK[:, :, None].expand(3, 5, 2).float())
    assert torch.equal(without_padding(Inputs(torch.zeros(3, 5, 2)), noise), noise.float())


@pytest.mark.parametrize("special", ["include", "keep"])
def test_one_candidate_becomes_one_of_the_nearest_tokens(special: str) -> None:
    inputs = text(special)
    weight: Tensor = BERT.get_input_embeddings().weight.detach()  # type: ignore[operator]
    assert inputs.candidates is not None
    places = set()
    for neighbour in neighbours(side(inputs), samples=12, seed=0, by="tokens", nearest=2):
        ids = neighbour.inputs.fixed["input_ids"]
        for row in range(3):
            (place,) = (ids[row] != IDS[row]).nonzero().flatten().tolist()
            places.add((row, place))
            assert bool(inputs.candidates[row, place])
            distance = (weight - weight[IDS[row, place]]).pow(2).sum(1)
            nearer = distance < distance[ids[row, place]]
            assert int(nearer.sum()) <= 2  # itself, and one other
            torch.testing.assert_close(neighbour.inputs.features[row, place], weight[ids[row, place]])
    assert len(places) > 6


def test_a_text_without_candidates_stays() -> None:
    inputs = text()
    none = Inputs(
        inputs.features,
        inputs.fixed,
        inputs.slot,
        candidates=torch.zeros_like(inputs.candidates),  # type: ignore[arg-type]
    )
    (only,) = neighbours(side(none), samples=1, seed=0, by="tokens")
    assert torch.equal(only.inputs.fixed["input_ids"], IDS)


def test_what_is_no_neighbourhood() -> None:
    inputs = Inputs(torch.zeros(2, 3))
    for options in ({"radius": 0.0}, {"samples": 0}, {"nearest": 0}):
        with pytest.raises(InputError, match="a neighbourhood needs"):
            list(neighbours(side(inputs), **{"samples": 1, "seed": 0, **options}))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`by: tokens` is for texts"):
        list(neighbours(side(inputs), samples=1, seed=0, by="tokens"))
    words = len(BERT.get_input_embeddings().weight)  # type: ignore[operator]
    assert len(list(neighbours(side(text()), samples=1, seed=0, by="tokens", nearest=words - 1))) == 1
    with pytest.raises(InputError, match=f"a vocabulary of {words} tokens has no {words} others"):
        list(neighbours(side(text()), samples=1, seed=0, by="tokens", nearest=words))


def test_the_norm_of_rows() -> None:
    assert norm(np.array([[3.0, 4.0], [0.0, -2.0]])).tolist() == [5.0, 2.0]


def test_a_neighbourhood_is_the_same_by_default_wherever_it_is_asked_for() -> None:
    wanted = {"by": "noise", "radius": 0.02, "nearest": 5}
    functions = [neighbours, *(AXIOMS.get(name).function for name in ("max_sensitivity", "local_lipschitz"))]
    for function in functions:
        parameters = inspect.signature(function).parameters
        assert {name: parameters[name].default for name in wanted} == wanted


@pytest.mark.parametrize("name", ["max_sensitivity", "local_lipschitz", "relative_stability"])
def test_an_axiom_asks_for_the_neighbourhood_that_it_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"axioms.properties.{name}")
    asked: list[dict[str, Any]] = []

    def noted(side: Any, **options: Any) -> Any:
        asked.append(options)
        return neighbours(side, samples=1, seed=0)

    monkeypatch.setattr(module, "neighbours", noted)
    view, _ = points()
    wanted = {"by": "tokens", "radius": 0.5, "nearest": 3, "samples": 7, "seed": 2}
    getattr(module, name)(view, **wanted)
    assert asked == [wanted]
