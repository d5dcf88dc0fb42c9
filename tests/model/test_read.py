"""Logits are computed where they are read, and nothing changes where a model goes on with them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.subjects.models.tiny import tiny

IDS = torch.randint(3, 40, (3, 7), generator=torch.Generator().manual_seed(0))
TEXT = {"input_ids": IDS, "attention_mask": (torch.arange(7) < torch.tensor([[7], [4], [6]])).long()}


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma3", "mamba"])
@pytest.mark.parametrize("method", ["attnlrp", "gradient_x_input", "loo"])
def test_the_head_is_given_one_token_of_each_text(architecture: str, method: str) -> None:
    model: Any = tiny(architecture=architecture)
    given: list[int] = []
    model.get_output_embeddings().register_forward_hook(lambda module, args, output: given.append(args[0].shape[1]))
    axioms.attribute(model, TEXT, method=method)
    assert set(given) == {1}


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma3"])
def test_the_logits_are_those_of_the_last_token_of_each_text(architecture: str) -> None:
    module = tiny(architecture=architecture).float()
    model = Model(module)
    with torch.no_grad(), model.at_rest():
        logits = module(**TEXT).logits[torch.arange(3), TEXT["attention_mask"].sum(dim=1) - 1]
        torch.testing.assert_close(model(read_inputs(module, TEXT)), logits, rtol=1e-5, atol=1e-5)


class Pools(nn.Module):
    """Has a head as a language model has, and returns the mean of its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(40, 4), nn.Linear(4, 5)

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.head(self.embedding(input_ids)).mean(dim=1)


def test_a_model_that_goes_on_with_its_logits_gets_all_of_them() -> None:
    module = Pools()
    model = Model(module)
    with torch.no_grad(), model.at_rest():
        assert torch.equal(model(read_inputs(module, TEXT)), module(**TEXT))
