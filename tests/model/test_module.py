"""A module as a function of inputs: whatever it returns, and however its head is called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import InputError, ModelFailed
from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.module import Model, lock_of, outputs_in

BATCH, TOKENS, WIDTH, WORDS = 2, 3, 4, 5


class Language(nn.Module):
    """A language model in small, which calls its head in one of several ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.way = way
        self.seen: list[tuple[int, ...]] = []
        self.head.register_forward_hook(lambda _, args, output: self.seen.extend(tuple(x.shape) for x in args))

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        hidden = self.embedding(input_ids).cumsum(dim=1)
        if self.way == "pooled":
            return self.head(hidden.mean(dim=1))
        if self.way == "mean of logits":
            return self.head(hidden).mean(dim=1)
        if self.way == "flat":
            return self.head(hidden.flatten(0, 1)).reshape(*hidden.shape[:2], -1)
        if self.way == "one more token":
            return self.head(torch.cat([hidden, hidden[:, :1]], dim=1))[:, :-1]
        if self.way == "by name":
            return SimpleNamespace(logits=self.head(input=hidden))
        return SimpleNamespace(logits=self.head(hidden))


def inputs(position: list[int] | None) -> Inputs:
    ids = torch.tensor([[1, 2, 3], [4, 0, 1]])
    fixed = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    features = Language("plain").embedding(ids).detach()
    return Inputs(features, fixed, EMBEDDINGS, position=None if position is None else torch.tensor(position))


@pytest.mark.parametrize("position", [None, [2, 0], [1, 1]])
@pytest.mark.parametrize("way", ["plain", "flat", "by name", "one more token", "pooled", "mean of logits"])
def test_the_outputs_are_those_at_the_place_that_is_read(way: str, position: list[int] | None) -> None:
    module, given = Language(way), inputs(position)
    found = Model(module)(given)
    plain = Language(way)
    hidden = plain.embedding(given.fixed["input_ids"]).cumsum(dim=1)
    if way == "pooled":
        wanted = plain.head(hidden.mean(dim=1))
    elif way == "mean of logits":
        wanted = plain.head(hidden).mean(dim=1)
    else:
        places = [TOKENS - 1] * BATCH if position is None else position
        wanted = plain.head(hidden)[torch.arange(BATCH), places]
    torch.testing.assert_close(found, wanted)
    if way == "plain":
        assert module.seen == [(BATCH, 1, WIDTH)]  # the head reads nothing else
    assert not module.head._forward_pre_hooks
    assert not module.embedding._forward_hooks


@pytest.mark.parametrize(
    "returned",
    [
        torch.ones(2, 3),
        (torch.tensor(0.5), torch.ones(2, 3)),
        [None, torch.ones(2, 3)],
        {"loss": torch.tensor(0.5), "logits": torch.ones(2, 3)},
        SimpleNamespace(logits=torch.ones(2, 3)),
        SimpleNamespace(logits=(torch.ones(2, 3), torch.zeros(2))),
    ],
)
def test_outputs_among_what_is_returned(returned: Any) -> None:
    assert torch.equal(outputs_in(returned), torch.ones(2, 3))


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ({"loss": torch.tensor(0.5)}, "a dict of loss"),
        ({}, "a dict of nothing"),
        (3, "a int, and"),
        ((torch.tensor(0.5),), "a tuple, and"),
    ],
)
def test_what_cannot_be_explained_is_named(returned: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"returned {said}"):
        outputs_in(returned)


class Returns(nn.Module):
    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor, **options: Any) -> Any:
        return self.make(x, **options)


def test_shapes_of_outputs() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert Model(Returns(lambda x: x.sum(1)))(Inputs(x)).tolist() == [[3.0], [12.0]]
    assert torch.equal(Model(Returns(lambda x: x))(Inputs(x)), x)
    scaled = Model(Returns(lambda x, by: x * by))
    assert torch.equal(scaled(Inputs(x, {"by": 2})), 2 * x)
    assert torch.equal(scaled(Inputs(x, {"by": 2}, "x")), 2 * x)
    for wrong in (lambda x: x[:1], lambda x: x.reshape(1, 1, 2, 3)):
        with pytest.raises(InputError, match="must give batch x outputs"):
            Model(Returns(wrong))(Inputs(x))
    with pytest.raises(ModelFailed, match=r"raised ValueError.*features of shape \(2, 3\) of float32"):
        Model(Returns(lambda x: list(x.shape).index(-1)))(Inputs(x))


def test_at_rest_and_back() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 2))
    module[2].eval()
    module[0].weight.requires_grad_(False)
    before = [part.training for part in module.modules()], [weight.requires_grad for weight in module.parameters()]
    with Model(module).at_rest():
        assert not any(part.training for part in module.modules())
        assert not any(weight.requires_grad for weight in module.parameters())
    assert before == ([part.training for part in module.modules()], [one.requires_grad for one in module.parameters()])
    assert lock_of(module) is lock_of(module)
    assert lock_of(module) is not lock_of(module[0])


def test_what_others_keep_of_the_head_is_no_more_than_what_is_read() -> None:
    module, kept = Language("plain"), list[tuple[int, ...]]()
    module.head.register_forward_pre_hook(lambda _, args: kept.append(tuple(args[0].shape)))
    Model(module)(inputs([2, 0]))
    assert kept == [(BATCH, 1, WIDTH)]
