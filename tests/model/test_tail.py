"""The end of a model at the token that is read: the same outputs, fewer tokens, and no harm where it is not so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import axioms
from axioms.model import tail
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.subjects.models.tiny import tiny

TEXTS = ("bert", "modernbert", "gpt2", "llama", "qwen3-moe", "gemma3", "mamba")


def prepared(architecture: str) -> tuple[Model, Inputs]:
    module = tiny(architecture=architecture)
    ids = torch.randint(3, 40, (3, 8), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(8) < torch.tensor([[8], [5], [7]])).long()
    return Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": mask})


@pytest.mark.parametrize("architecture", TEXTS)
def test_the_outputs_are_the_same(architecture: str) -> None:
    model, inputs = prepared(architecture)
    with model.at_rest(), torch.no_grad():
        short = tail.with_short_tail(model, inputs)
        assert isinstance(short, tail.TailModel)
        torch.testing.assert_close(short(inputs), model(inputs), rtol=0, atol=1e-12)
        assert tail._TAILS[model.module]  # nothing fell back


def test_the_last_layer_is_computed_for_one_token() -> None:
    model, inputs = prepared("bert")
    module: Any = model.module
    shapes: list[torch.Size] = []
    dense = module.bert.encoder.layer[-1].intermediate.dense
    forward = dense.forward

    def noting(x: torch.Tensor) -> torch.Tensor:
        shapes.append(x.shape[:2])
        return forward(x)

    with model.at_rest(), torch.no_grad():
        short = tail.with_short_tail(model, inputs)
        dense.forward = noting
        short(inputs)
        model(inputs)
    assert shapes == [(3, 1), (3, 8)]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


class Mean(nn.Module):
    """Reads all tokens alike."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear, self.out = nn.Embedding(40, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(self.embedding(input_ids)) * attention_mask.unsqueeze(-1)
        return self.out(hidden.mean(dim=1))


def test_a_model_that_reads_all_tokens_has_no_tail() -> None:
    module, ids = Mean().double(), torch.arange(12).reshape(2, 6)
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest(), torch.no_grad():
        assert tail.with_short_tail(model, inputs) is model


def test_a_tail_that_is_none_after_all_is_noticed() -> None:
    """Were a map taken for part of the tail by mistake, what others see of it is no number, and nothing is cut."""
    module, ids = Mean().double(), torch.arange(12).reshape(2, 6)
    model, inputs = Model(module), read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    with model.at_rest(), torch.no_grad():
        tail._TAILS[module] = {"linear": "first"}
        torch.testing.assert_close(tail.TailModel(module)(inputs), model(inputs), rtol=0, atol=0)
        assert tail._TAILS[module] == {}


RULED = "gradient_x_input attnlrp cp_lrp lrp_epsilon lrp_gamma lrp_alpha1_beta0 degree_lrp".split()


@pytest.mark.parametrize("method", RULED)
@pytest.mark.parametrize("architecture", TEXTS)
def test_relevance_is_the_same(architecture: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tiny(architecture=architecture)
    ids = torch.randint(3, 40, (3, 8), generator=torch.Generator().manual_seed(0))
    inputs = {"input_ids": ids, "attention_mask": (torch.arange(8) < torch.tensor([[8], [5], [7]])).long()}
    plain = axioms.attribute(module, inputs, method=method)
    assert module not in tail._TAILS
    monkeypatch.setattr(tail, "MANY", 1)
    short = axioms.attribute(module, inputs, method=method)
    assert tail._TAILS[module], "nothing fell back"
    size = max(float(plain.scores.abs().max()), float(plain.output.abs().max()))
    torch.testing.assert_close(short.scores, plain.scores, rtol=0, atol=1e-12 * size)
    torch.testing.assert_close(short.output, plain.output, rtol=1e-12, atol=0)


class Largest(nn.Module):
    """Reads the token with the largest number, wherever it is."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear, self.out = nn.Embedding(40, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.linear(self.embedding(input_ids))
        return self.out(hidden[torch.arange(len(hidden)), input_ids.argmax(dim=1)])


@pytest.mark.parametrize("method", ["gradient_x_input", "attnlrp", "cp_lrp"])
def test_a_token_that_is_read_elsewhere_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first four tokens say that the first one is read, the whole text that another is."""
    torch.manual_seed(0)
    module = Largest().double()
    ids = torch.tensor([[9, 1, 2, 3, 30, 4], [1, 2, 3, 4, 5, 6]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    plain = axioms.attribute(module, inputs, method=method)
    monkeypatch.setattr(tail, "MANY", 1)
    found = axioms.attribute(module, inputs, method=method)
    assert tail._TAILS[module] == {}
    torch.testing.assert_close(found.scores, plain.scores, rtol=0, atol=0)
    torch.testing.assert_close(found.output, plain.output, rtol=0, atol=0)
    assert float(found.scores[0, 4].abs()) > 0, "the token that is read"
