"""What padding does to relevance that is made up, and to a model whose outputs see it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import InputError, NotDefined
from axioms.model.inputs import Inputs
from axioms.properties.padding_invariance import padding_invariance
from tests.properties.sides import make_side

MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0]])
FEATURES = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, -2.0, 0.5, 2.5], [8.0, 1.0, 1.0, 0.0]], dtype=torch.float64)


class Words(nn.Module):
    """The sum of the words there are; `seen` says what each token of padding adds to the outputs of each example."""

    def __init__(self, seen: list[float]) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 1).double()
        self.seen = torch.tensor(seen, dtype=torch.float64)

    def get_input_embeddings(self) -> nn.Module:
        return self.table

    def forward(self, input_ids: Tensor, attention_mask: Tensor, number: Tensor) -> Tensor:
        total = (self.table(input_ids)[..., 0] * attention_mask).sum(1)
        longer = attention_mask.shape[1] - MASK.shape[1]
        return (total * (1 + longer * self.seen[number])).unsqueeze(1)


def side(said: Any, seen: list[float] | None = None) -> Any:
    fixed = {"input_ids": torch.ones_like(MASK), "attention_mask": MASK, "number": torch.arange(3)}
    inputs = Inputs(FEATURES.unsqueeze(-1), fixed, slot="embeddings", candidates=MASK.bool())
    return make_side(Words(seen or [0.0] * 3), inputs, method=said, batch_size=3)[0]


def told(padded: list[list[float]]) -> Any:
    """A method that gives the features themselves, and these numbers where there is padding."""

    def said(model: Any, inputs: Inputs, target: Any) -> Tensor:
        plain = inputs.features.shape[1] == MASK.shape[1]
        return FEATURES.clone() if plain else torch.tensor(padded, dtype=torch.float64)

    return said


def moved(where: str, by: int, extra: list[list[float]]) -> list[list[float]]:
    """The features, of which one is changed in each example, and something on the padding."""
    own = FEATURES.clone()
    own[:, 1] += torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    more = torch.tensor(extra, dtype=torch.float64)
    assert more.shape[1] == by
    rows: list[list[float]] = torch.cat([own, more] if where == "right" else [more, own], dim=1).tolist()
    return rows


@pytest.mark.parametrize("where", ["right", "left"])
def test_every_token_of_padding_and_every_token_that_was_there_is_looked_at(where: Any) -> None:
    """The largest is on the first, the second and the last of the three added tokens."""
    extra = [[-0.5, 0.1, 0.0], [0.0, -16.0, 1.0], [0.0, 0.2, 0.4]]
    found = padding_invariance(side(told(moved(where, 3, extra))), side=where)
    np.testing.assert_allclose(found["relative_gap"], [1 / 4, 0.5 / 2.5, 2 / 8])
    np.testing.assert_allclose(found["on_padding"], [0.5 / 4, 16 / 16, 0.4 / 8])


@pytest.mark.parametrize("where", ["right", "left"])
def test_there_may_be_one_token_of_padding_or_two(where: Any) -> None:
    one = padding_invariance(side(told(moved(where, 1, [[1.0], [0.0], [2.0]]))), side=where, by=1)
    np.testing.assert_allclose(one["on_padding"], [1 / 4, 0.0, 2 / 8])
    two = padding_invariance(side(told(moved(where, 2, [[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]]))), side=where, by=2)
    np.testing.assert_allclose(two["on_padding"], [1 / 4, 0.5 / 2.5, 0.0])
    with pytest.raises(InputError, match="at least one token of padding, not 0"):
        padding_invariance(side(told([])), by=0)


def test_relevance_that_is_next_to_nothing_is_weighed_against_the_output() -> None:
    def said(model: Any, inputs: Inputs, target: Any) -> Tensor:
        scores = torch.zeros(inputs.features.shape[:2], dtype=torch.float64)
        scores[:, MASK.shape[1] :] = torch.tensor([[1e-5], [1e-6], [1.0]], dtype=torch.float64)
        return scores

    found = padding_invariance(side(said))
    np.testing.assert_allclose(found["on_padding"], [1e-5 / 1e-2, 1e-6 / 2e-3, 1.0])
    assert found["relative_gap"].tolist() == [0.0, 0.0, 0.0]


def test_outputs_that_see_the_padding_in_one_example_leave_nothing_to_ask() -> None:
    same = told(moved("right", 3, [[0.0] * 3] * 3))
    with pytest.raises(NotDefined, match=r"on the right is another input for this model: .* move by 0.06 of"):
        padding_invariance(side(same, [0.0, 0.02, 0.0]))
    half = float(torch.finfo(torch.float64).eps) ** 0.5
    assert padding_invariance(side(same, [0.0, half / 4, 0.0]))["on_padding"].tolist() == [0.0] * 3
    with pytest.raises(NotDefined):
        padding_invariance(side(same, [0.0, half / 2, 0.0]))
    with pytest.raises(NotDefined):
        padding_invariance(side(same, [0.0, float("nan"), 0.0]))
