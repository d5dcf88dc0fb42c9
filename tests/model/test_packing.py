"""Texts that are closed up over what is masked: the numbers of whole texts, whatever the model knows a token by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from axioms.model import packing, tail
from axioms.model import probe as probing
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.packing import may_pack, to_try
from axioms.model.probe import OVERHEAD, _parts_near, probe
from axioms.model.removals import packed
from axioms.model.targets import Target
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

TEXTS, LENGTH, ROWS = 3, 12, 60


def texts(module: nn.Module, side: str = "right", length: int = LENGTH) -> Inputs:
    """Three texts of different lengths, removed by the attention mask."""
    ids = torch.randint(3, 40, (TEXTS, length), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(length) < torch.tensor([[length], [length - 3], [length // 2]])).long()
    mask = mask.flip(1) if side == "left" else mask
    return read_inputs(module, {"input_ids": ids, "attention_mask": mask}, "attention_mask")


def half(inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Removals of about half of the tokens, of one, of all and of none, of any of the texts.

    The last token stays, unless all are removed: without it a query of Mistral may find no key in its window.
    """
    draw = torch.Generator().manual_seed(1)
    length = inputs.features.shape[1]
    example = torch.randint(TEXTS, (ROWS,), generator=draw)
    removed = torch.rand(ROWS, length, generator=draw) < 0.5
    assert inputs.position is not None
    removed &= torch.arange(length) != inputs.position[example].unsqueeze(1)
    removed[0], removed[1], removed[2] = True, False, torch.arange(length) == 2
    return example, removed & inputs.fixed["attention_mask"][example].bool()


def one_by_one(model: Model, inputs: Inputs, target: Target, example: Tensor, removed: Tensor) -> Tensor:
    """The oracle: a pass over the whole text for every removal, without the padding behind it."""
    assert inputs.lengths is not None
    values = []
    for row, gone in zip(example.split(1), removed.split(1), strict=True):
        length = int(inputs.lengths[row])
        with torch.no_grad():
            outputs = model(inputs.select(row).up_to(length).without(gone[:, :length]))
        values.append(target.select(row)(outputs))
    return torch.cat(values)


@contextmanager
def counting(module: nn.Module) -> Iterator[list[int]]:
    """Note how many tokens every pass has."""
    tokens: list[int] = []
    handle = module.register_forward_pre_hook(
        lambda _, args, kwargs: tokens.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    try:
        yield tokens
    finally:
        handle.remove()


def asked(module: nn.Module, inputs: Inputs) -> tuple[Tensor, Tensor, list[int]]:
    """What probe says, what the oracle says, and the tokens of the passes of probe."""
    example, removed = half(inputs)
    model, target = Model(module), Target(torch.tensor([0, 1, 0]))
    with model.at_rest():
        with counting(module) as tokens:
            (found,) = probe(model, inputs, [target], example, removed)
        return found, one_by_one(model, inputs, target, example, removed), tokens


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - {"vit"}))
def test_every_family_gets_the_numbers_of_whole_texts(name: str, side: str) -> None:
    module = tiny(architecture=name).double()
    found, wanted, _ = asked(module, texts(module, side))
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def kept_by_hand(inputs: Inputs, example: Tensor, removed: Tensor) -> list[list[int]]:
    """The places of the tokens that are computed for every removal: those that stay, both ends and the first place."""
    attended = inputs.fixed["attention_mask"].bool()
    places = []
    for row, gone in zip(example.tolist(), removed, strict=True):
        there = attended[row].nonzero().flatten().tolist()
        stay = {place for place in there if not gone[place]}
        places.append(sorted(stay | {0, there[0], there[-1]}))
    return places


def moved_by_hand(kept: list[int]) -> int:
    """How many places all tokens together move to the front."""
    return sum(place - number for number, place in enumerate(kept))


def nearer_by_hand(kept: list[int]) -> int:
    """By how many places the pairs of tokens come nearer to each other, together."""
    pairs = combinations(enumerate(kept), 2)
    return sum((later - earlier) - (second - first) for (first, earlier), (second, later) in pairs)


@pytest.mark.parametrize("side", ["right", "left"])
def test_tokens_that_are_masked_are_not_computed(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the token: a look at the tail, the removals that are tried, both ways, and then what stays of every text."""
    monkeypatch.setitem(OVERHEAD, "cpu", 0)  # so that no text is padded to save a pass
    bert = tiny(architecture="bert").double()
    inputs = texts(bert, side)
    choose = Mock(wraps=to_try)
    monkeypatch.setattr(probing, "to_try", choose)
    example, removed = half(inputs)
    found, wanted, tokens = asked(bert, inputs)
    tried = to_try(*choose.call_args.args).tolist()
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
    assert bert not in packing._PLACED
    kept = [len(places) for places in kept_by_hand(inputs, example, removed)]
    assert inputs.lengths is not None
    whole = [int(length) for length in inputs.lengths[example]]
    assert sum(kept) < sum(whole) / 1.3
    assert sum(tokens) == (
        tail.TOKENS
        + sum(whole[number] for number in tried)
        + len(tried) * max(kept[number] for number in tried)
        + sum(kept)
    )


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_removals_that_are_tried_are_the_most_telling_of_padded_texts(
    side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padding is closed up like what is masked, so it counts among what moves and what comes nearer."""
    bert = tiny(architecture="bert").double()
    inputs = texts(bert, side)
    choose = Mock(wraps=to_try)
    monkeypatch.setattr(probing, "to_try", choose)
    asked(bert, inputs)
    example, removed = half(inputs)
    kept = kept_by_hand(inputs, example, removed)
    moved = [moved_by_hand(places) for places in kept]
    nearer = [nearer_by_hand(places) for places in kept]
    masked_first = [number if bool(gone[0]) else 0 for number, gone in zip(moved, removed, strict=True)]
    wanted = {values.index(max(values)) for values in (moved, nearer, masked_first)}
    assert to_try(*choose.call_args.args).tolist() == sorted(wanted)


def test_a_packed_pass_has_no_more_tokens_than_the_device_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by its longest text, to which the others are padded."""
    monkeypatch.setitem(probing.TOKENS, "cpu", 2 * LENGTH)
    monkeypatch.setitem(OVERHEAD, "cpu", 10**6)  # so that as few passes as are allowed cost least
    bert = tiny(architecture="bert").double()
    inputs = texts(bert)
    example = torch.zeros(20, dtype=torch.long)
    removed = torch.ones(20, LENGTH, dtype=torch.bool)
    removed[7] = False  # one text stays whole, of the others two or three tokens
    removed[:10, 5] = False
    model, target = Model(bert), Target(torch.tensor([0, 1, 0]))
    with model.at_rest():
        with counting(bert) as tokens:
            (found,) = probe(model, inputs, [target], example, removed)
        torch.testing.assert_close(found, one_by_one(model, inputs, target, example, removed))
    assert bert not in packing._PLACED
    assert tokens[-10:] == [2 * LENGTH, *[2 * 3] * 4, *[2 * 2] * 5]


@given(st.integers(1, 8), st.integers(0, 2**16))
@settings(deadline=None, max_examples=10)
def test_a_packed_text_is_the_whole_text(count: int, seed: int) -> None:
    bert = tiny(architecture="bert").double()
    inputs = texts(bert)
    draw = torch.Generator().manual_seed(seed)
    removed = torch.zeros(TEXTS, LENGTH, dtype=torch.bool)
    removed[:, torch.randperm(LENGTH, generator=draw)[:count]] = True
    changed = inputs.without(removed)
    short = packed(changed, packing.computed_always(inputs))
    model = Model(bert)
    with model.at_rest(), torch.no_grad():
        torch.testing.assert_close(model(short), model(changed), rtol=1e-10, atol=1e-12)
    assert short.features.shape[1] <= changed.features.shape[1]


class Reading(nn.Module):
    """A model of masked means that reads one place more, or looks at how far tokens are from each other."""

    def __init__(self, *, place: int | None = None, window: int | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.positions = nn.Embedding(50, 4), nn.Embedding(50, 4)
        self.place, self.window = place, window

    def get_input_embeddings(self) -> nn.Module:
        """The table of tokens."""
        return self.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the mean of what every attended token makes of those that it sees."""
        places = torch.arange(input_ids.shape[1]).expand(input_ids.shape) if position_ids is None else position_ids
        states = self.embedding(input_ids) + self.positions(places)
        seen = attention_mask.bool().unsqueeze(1).expand(-1, input_ids.shape[1], -1)
        if self.window is not None:
            index = torch.arange(input_ids.shape[1])
            seen = seen & ((index - index.unsqueeze(1)).abs() <= self.window)
        weights = seen.to(states.dtype) / seen.sum(-1, keepdim=True).clamp(min=1)
        mixed = torch.tanh(weights @ states + states)
        there = attention_mask.to(states.dtype)
        mean = torch.einsum("bt,btw->bw", there, mixed) / there.sum(1, keepdim=True)
        return mean if self.place is None else mean + mixed[:, self.place]


@pytest.mark.parametrize(
    ("module", "packs"),
    [(Reading(), True), (Reading(place=0), True), (Reading(place=3), False), (Reading(window=4), False)],
    ids=["mean", "first", "a place inside", "window"],
)
def test_a_model_that_knows_a_token_by_its_place_is_run_whole(module: nn.Module, packs: bool) -> None:
    module = module.double()
    inputs = texts(module)
    for _ in range(2):  # and remembered
        found, wanted, tokens = asked(module, inputs)
        torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
    assert (module in packing._PLACED) is not packs
    example, removed = half(inputs)
    assert may_pack(module, inputs, removed) is packs
    assert inputs.lengths is not None
    assert (sum(tokens) < int(inputs.lengths[example].sum())) is packs


def test_the_longest_text_of_a_pass_decides_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve tokens at most, padding included, however much another pass costs."""
    monkeypatch.setitem(probing.TOKENS, "cpu", 12)
    monkeypatch.setitem(OVERHEAD, "cpu", 1000)
    for lengths in ([12, 4, 4, 4, 4], [6, 3, 3, 3], [3, 3, 3, 3, 3]):
        parts = list(_parts_near(torch.arange(len(lengths)), torch.tensor(lengths), 99))
        assert torch.cat(parts).tolist() == list(range(len(lengths)))
        assert max(len(part) * lengths[int(part[0])] for part in parts) <= 12
    assert [len(part) for part in parts] in ([4, 1], [1, 4])


def test_few_removals_are_not_worth_it() -> None:
    bert = tiny(architecture="bert")
    inputs = texts(bert)
    many = torch.zeros(packing.WORTHWHILE, LENGTH, dtype=torch.bool)
    assert may_pack(bert, inputs, ~many)
    assert not may_pack(bert, inputs, ~many[1:])
    assert not may_pack(bert, read_inputs(bert, dict(inputs.fixed), "zero_embedding"), ~many)


def test_what_is_tried_moves_furthest_changes_most_distances_or_masks_what_is_read() -> None:
    removed = torch.zeros(6, 9, dtype=torch.bool)
    removed[1, 1] = removed[2, 4] = removed[3, 8] = removed[4, 0] = removed[5, 0] = removed[5, 7] = True
    stays = ~removed
    stays[:, 0] = stays[:, 8] = True
    assert to_try(removed, stays).tolist() == [1, 2, 5]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_dtypes_in_which_rounding_hides_a_difference_are_run_whole(dtype: torch.dtype) -> None:
    bert = tiny(architecture="bert")
    inputs, many = texts(bert), torch.ones(packing.WORTHWHILE, LENGTH, dtype=torch.bool)
    assert may_pack(bert, inputs.with_features(inputs.features.float()), many)
    assert not may_pack(bert, inputs.with_features(inputs.features.to(dtype)), many)


def test_what_has_no_numbers_is_not_tried() -> None:
    bert = tiny(architecture="bert")
    inputs, many = texts(bert), torch.ones(packing.WORTHWHILE, LENGTH, dtype=torch.bool)
    assert not may_pack(bert, inputs.with_features(inputs.features.to("meta")), many)


class OneReads(nn.Module):
    """Two outputs, of which the second alone looks at a place inside."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.bound = Reading(), Reading(place=3)
        self.bound.embedding = self.free.embedding

    def get_input_embeddings(self) -> nn.Module:
        """The table of tokens."""
        return self.free.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return an output that stays when a text is closed up, beside one that does not."""
        outputs = [part(input_ids, attention_mask, position_ids)[:, 0] for part in (self.free, self.bound)]
        return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_target_that_moves_is_enough(order: tuple[int, int]) -> None:
    """Each target must be the same both ways: that one of them is says nothing about another."""
    module = OneReads().double()
    inputs = texts(module)
    example, removed = half(inputs)
    model, targets = Model(module), [Target(torch.full((TEXTS,), output)) for output in order]
    with model.at_rest():
        found = probe(model, inputs, targets, example, removed)
        for values, target in zip(found, targets, strict=True):
            torch.testing.assert_close(values, one_by_one(model, inputs, target, example, removed))
    assert module in packing._PLACED


class Choosy(Reading):
    """Takes positions, and none that leave one out."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """Return the mean, or raise."""
        if position_ids is not None:
            raise ValueError("positions must follow each other")
        return super().forward(input_ids, attention_mask)


def test_a_model_that_does_not_take_the_positions_is_run_whole() -> None:
    module = Choosy().double()
    found, wanted, _ = asked(module, texts(module))
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
    assert module in packing._PLACED


def test_tokens_keep_the_positions_that_they_are_given() -> None:
    bert = tiny(architecture="bert").double()
    plain = texts(bert)
    places = torch.stack([torch.randperm(LENGTH, generator=torch.Generator().manual_seed(row)) for row in range(TEXTS)])
    inputs = read_inputs(bert, {**plain.fixed, "position_ids": places}, "attention_mask")
    found, wanted, tokens = asked(bert, inputs)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)
    assert bert not in packing._PLACED
    other, *_ = asked(bert, plain)
    assert not torch.allclose(found, other), "the positions matter"
    assert plain.lengths is not None
    assert sum(tokens) < int(plain.lengths[half(plain)[0]].sum())


def test_tokens_of_a_long_text_stay_in_order() -> None:
    """Closed up or shortened: sorting by what stays must not exchange any two of many."""
    bert = tiny(architecture="bert")
    ids = torch.arange(60).repeat(2, 1) % 37
    removed = torch.rand(2, 60, generator=torch.Generator().manual_seed(0)) < 0.5
    for kind in ("attention_mask", "delete"):
        inputs = read_inputs(bert, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, kind)
        none = torch.zeros(2, 60, dtype=torch.bool)
        short = packed(inputs.without(removed), none) if kind == "attention_mask" else inputs.without(removed)
        for row in range(2):
            wanted = ids[row][~removed[row]].tolist()
            assert short.fixed["input_ids"][row, : len(wanted)].tolist() == wanted
