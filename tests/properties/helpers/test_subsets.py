"""Sets of units that are removed together: what that takes from the output, each question put once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.model import probe as probing
from axioms.model.inputs import Inputs, read_inputs
from axioms.properties.helpers.subsets import drops
from axioms.properties.helpers.views import SideView
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import make_side

LENGTHS = torch.tensor([[6], [4]])


def nothing(model: Any, inputs: Inputs, target: Any) -> Tensor:
    """Relevance of zero."""
    return torch.zeros(inputs.features.shape[:2], dtype=torch.float64)


def text_side(remove: str | dict[str, Any]) -> SideView:
    """Two texts of different lengths for a tiny BERT."""
    bert = tiny(architecture="bert")
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(6) < LENGTHS).long()
    side, _ = make_side(bert, read_inputs(bert, {"input_ids": ids, "attention_mask": mask}, remove), method=nothing)
    return side


@pytest.mark.parametrize("kind", ["attention_mask", "delete"])
def test_all_tokens_but_the_ends_are_the_same_question_as_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty text keeps its ends, so that whether they are in the set is no difference: it is asked once."""
    side = text_side(kind)
    chosen = np.zeros((2, 5, 6), dtype=bool)
    for row, length in enumerate(LENGTHS.flatten().tolist()):
        chosen[row, 0, :length] = True
        chosen[row, 1, 1 : length - 1] = True
        chosen[row, 2:4, 1] = True
    asked: list[tuple[int, ...]] = []
    probe = probing.probe

    def counting(model: Any, inputs: Inputs, targets: Any, example: Tensor, removed: Tensor) -> list[Tensor]:
        asked.extend((row, *gone) for row, gone in zip(example.tolist(), removed.tolist(), strict=True))
        return probe(model, inputs, targets, example, removed)

    monkeypatch.setattr(probing, "probe", counting)
    drop = drops(side, chosen, side.target)
    assert len(asked) == len(set(asked)) == 2 * 3  # of each text: all but its ends, one token, none
    assert (drop[:, 0] == drop[:, 1]).all()
    assert (drop[:, 2] == drop[:, 3]).all()
    np.testing.assert_allclose(drop[:, 4], 0, atol=1e-12)


def test_a_chunk_is_removed_as_a_whole_and_padding_never() -> None:
    side = text_side({"kind": "zero_embedding", "chunk": 2})
    draw = np.random.default_rng(0)
    chosen = draw.random((2, 7, 3)) < 0.5
    chosen[1, :, 2] = draw.random(7) < 0.5  # a chunk that the shorter text does not have
    drop = drops(side, chosen, side.target)
    inputs, target = side.inputs, side.target
    with torch.no_grad(), side.model.at_rest():
        for example in range(2):
            row = torch.tensor([example])
            whole = target.select(row)(side.model(inputs.select(row)))
            for number, units in enumerate(chosen[example]):
                gone = torch.tensor([units[place // 2] and place < int(LENGTHS[example]) for place in range(6)])
                left = target.select(row)(side.model(inputs.select(row).without(gone.unsqueeze(0))))
                np.testing.assert_allclose(drop[example, number], float(whole - left), atol=1e-12)
