"""Parts of a batch: everything that belongs to an example or to a feature goes with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import InputError
from axioms.model.inputs import EMBEDDINGS, Inputs, input_embedding, read_inputs, words_of
from axioms.model.removals import Removal
from axioms.subjects.models.tiny import tiny

BATCH, LENGTH, WIDTH, DRAWS = 4, 6, 3, 2


def numbered(*shape: int) -> Tensor:
    return torch.arange(int(torch.tensor(shape).prod())).reshape(shape)


def batch() -> Inputs:
    """Inputs in which every number is another one, and some things are nobody's."""
    lengths = torch.tensor([[6], [4], [5], [3]])
    fixed = {
        "input_ids": numbered(BATCH, LENGTH),
        "attention_mask": (torch.arange(LENGTH) < lengths).long(),
        "per_example": numbered(BATCH, 2),
        "scale": torch.tensor(0.5),
        "table": numbered(BATCH + 1, 2),
        "name": "a text",
    }
    candidates = (torch.arange(LENGTH) < lengths) & (torch.arange(LENGTH) != 1)
    return Inputs(
        numbered(BATCH, LENGTH, WIDTH).double(),
        fixed,
        EMBEDDINGS,
        candidates=candidates,
        drawn=numbered(BATCH, DRAWS, LENGTH),
        position=lengths.flatten() - 1,
        first=10,
    )


def same(left: Any, right: Any) -> bool:
    return torch.equal(left, right) if isinstance(left, Tensor) else left == right


def check_rows(part: Inputs, whole: Inputs, rows: list[int]) -> None:
    for name in ("features", "candidates", "drawn", "position"):
        assert same(getattr(part, name), getattr(whole, name)[rows]), name
    for name in ("input_ids", "attention_mask", "per_example"):
        assert same(part.fixed[name], whole.fixed[name][rows]), name
    for name in ("scale", "table", "name"):
        assert same(part.fixed[name], whole.fixed[name]), name


def test_rows_take_all_that_belongs_to_them() -> None:
    whole = batch()
    check_rows(whole.rows(1, 3), whole, [1, 2])
    assert whole.rows(1, 3).first == 11
    assert len(whole.rows(3, 9)) == 1


def test_examples_may_be_chosen_in_any_order_and_often() -> None:
    whole = batch()
    check_rows(whole.select(torch.tensor([2, 0, 2])), whole, [2, 0, 2])


def test_the_first_features_take_all_that_is_theirs() -> None:
    whole = batch()
    part = whole.up_to(3)
    for name in ("features", "candidates"):
        assert same(getattr(part, name), getattr(whole, name)[:, :3]), name
    assert part.drawn is not None
    assert whole.drawn is not None
    assert same(part.drawn, whole.drawn[:, :, :3])
    for name in ("input_ids", "attention_mask"):
        assert same(part.fixed[name], whole.fixed[name][:, :3]), name
    for name in ("per_example", "scale", "table", "name"):
        assert same(part.fixed[name], whole.fixed[name]), name
    bare = Inputs(torch.zeros(2, 5)).up_to(2)
    assert bare.features.shape == (2, 2)
    assert bare.candidates is None
    assert bare.drawn is None


def test_lengths_and_padding_are_the_masks() -> None:
    inputs = batch()
    assert inputs.attended is not None
    assert torch.equal(inputs.attended, inputs.fixed["attention_mask"] == 1)
    assert inputs.lengths is not None
    assert inputs.lengths.tolist() == [6, 4, 5, 3]
    left = replace(inputs, fixed={"attention_mask": torch.tensor([[0, 0, 1, 0, 1, 0]]).expand(4, -1)})
    assert left.lengths is not None
    assert left.lengths.tolist() == [5, 5, 5, 5]
    for mask in ({}, {"attention_mask": torch.ones(BATCH, 1, LENGTH, LENGTH)}):
        assert replace(inputs, fixed=mask).attended is None
        assert replace(inputs, fixed=mask).lengths is None


@pytest.mark.parametrize("chunk", [1, 2, 4])
def test_units_are_counted_over_the_candidates(chunk: int) -> None:
    inputs = replace(batch(), removal=Removal(kind="zero", chunk=chunk))
    units = inputs.units()
    assert units is not None
    assert inputs.candidates is not None
    for row, there in zip(units.tolist(), inputs.candidates.tolist(), strict=True):
        seen = 0
        for unit, is_candidate in zip(row, there, strict=True):
            assert unit == (seen // chunk if is_candidate else -1)
            seen += is_candidate
    every = replace(inputs, candidates=None).units()
    if chunk == 1:
        assert every is None
    else:
        assert every is not None
        assert every.tolist() == [[place // chunk for place in range(LENGTH)]] * BATCH
    assert replace(inputs, candidates=None).units(3) is not None
    assert replace(inputs, candidates=None, removal=Removal(kind="zero", chunk=3)).units(1) is None


def test_a_mapping_has_one_tensor_of_features() -> None:
    module = torch.nn.Linear(2, 2)
    read = read_inputs(module, {"pixels": torch.ones(3, 2), "numbers": torch.ones(3, dtype=torch.long), "k": 4})
    assert read.slot == "pixels"
    assert set(read.fixed) == {"numbers", "k"}
    with pytest.raises(InputError, match="there are a, b among a, b"):
        read_inputs(module, {"a": torch.ones(3, 2), "b": torch.ones(3, 2)})
    with pytest.raises(InputError, match="there are none among a"):
        read_inputs(module, {"a": torch.ones(3, dtype=torch.long)})


def test_the_words_are_neither_padding_nor_special() -> None:
    ids = torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    special = torch.tensor([[1, 0, 0, 1], [1, 0, 1, 1]])
    given = {"input_ids": ids}
    assert words_of(given).tolist() == ids.flatten().tolist()
    assert words_of({**given, "attention_mask": mask}).tolist() == [1, 5, 6, 2, 1, 7, 2]
    assert words_of({**given, "attention_mask": torch.ones(2, 1, 4, 4)}).tolist() == ids.flatten().tolist()
    assert words_of({**given, "special_tokens_mask": special}).tolist() == [5, 6, 7]
    assert words_of(given, ids > 5).tolist() == [6, 7]


def test_what_is_read_of_a_text() -> None:
    """Special tokens are candidates unless they are kept; the place that is read is the last token's."""
    module = tiny(architecture="bert")
    ids = torch.tensor([[1, 5, 6, 2], [1, 7, 2, 0]])
    mask = (ids != 0).long()
    special = torch.tensor([[1, 0, 0, 1], [1, 0, 1, 1]])
    given = {"input_ids": ids, "attention_mask": mask, "special_tokens_mask": special}
    included, kept = (read_inputs(module, given, {"special_tokens": which}) for which in ("include", "keep"))
    assert included.candidates is not None
    assert kept.candidates is not None
    assert torch.equal(included.candidates, mask == 1)
    assert torch.equal(kept.candidates, special == 0)
    assert included.position is not None
    assert included.position.tolist() == [3, 2]
    assert set(included.fixed) == {"input_ids", "attention_mask"}
    assert included.removal.kind == "attention_mask"
    bare = {"input_ids": ids, "special_tokens_mask": special}
    unmasked = read_inputs(module, bare, {"kind": "zero_embedding", "special_tokens": "keep"})
    assert unmasked.candidates is not None
    assert torch.equal(unmasked.candidates, special == 0)
    with pytest.raises(InputError, match="says which tokens are special"):
        read_inputs(module, {"input_ids": ids, "attention_mask": mask}, {"special_tokens": "keep"})
    with pytest.raises(InputError, match=r"has shape \(2, 3\)"):
        read_inputs(module, {**given, "special_tokens_mask": special[:, :3]})


def test_an_example_without_a_token_is_named() -> None:
    module, ids = tiny(architecture="bert"), torch.tensor([[5, 6, 7], [5, 6, 7], [5, 6, 7]])
    mask = torch.tensor([[1, 1, 0], [0, 0, 0], [1, 1, 1]])
    with pytest.raises(InputError, match="attention_mask of example 1 attends to no token"):
        read_inputs(module, {"input_ids": ids, "attention_mask": mask})


def test_the_embedding_that_is_called() -> None:
    """The one that the model names; of its twins of the same shape the innermost, if it is one of them."""

    class Mine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(5, 2))

    class Net(nn.Module):
        def __init__(self, named: nn.Module, *others: nn.Module) -> None:
            super().__init__()
            self.named, self.others = named, nn.ModuleList(others)

        def get_input_embeddings(self) -> nn.Module:
            return self.named

    first, second, other = nn.Embedding(5, 2), nn.Embedding(5, 2), nn.Embedding(4, 2)
    assert input_embedding(Net(first, other)) is first
    assert input_embedding(Net(first, second, other)) is second
    mine = Mine()
    assert input_embedding(Net(mine, first, second)) is mine
    with pytest.raises(InputError, match="no get_input_embeddings"):
        input_embedding(nn.Linear(1, 1))
