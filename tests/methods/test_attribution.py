"""The public call."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import InputError, UnknownName


class Bag(nn.Module):
    """A text classifier in small: embeddings, an attention mask, logits in an object."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 3)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        tokens = self.embedding(input_ids) * attention_mask.unsqueeze(-1)
        return SimpleNamespace(logits=self.out(tokens.sum(dim=1)))


class Picture(nn.Module):
    def forward(self, pixel_values: Tensor, scale: int) -> Tensor:
        return pixel_values.sum(dim=1, keepdim=True) * scale


TEXT = {"input_ids": torch.tensor([[1, 2, 3], [4, 5, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}


def test_a_mapping_with_input_ids_is_attributed_to_its_embeddings() -> None:
    model = Bag().double()
    logits = model(**TEXT).logits
    found = axioms.attribute(model, TEXT, target=1, method="gradient_x_input")
    assert found.method == "gradient_x_input"
    torch.testing.assert_close(found.output, logits[:, 1])
    wanted = (model.embedding(TEXT["input_ids"]) * TEXT["attention_mask"].unsqueeze(-1)) @ model.out.weight[1]
    torch.testing.assert_close(found.scores, wanted.detach())
    torch.testing.assert_close(axioms.attribute(model, TEXT, target=1, method="attnlrp").scores, wanted.detach())


def test_leave_one_out_of_a_text_uses_its_attention_mask() -> None:
    model = Bag().double()
    found = axioms.attribute(model, TEXT, target=torch.tensor([0, 2]), method="loo").scores
    for example, target in enumerate((0, 2)):
        for token in range(3):
            mask = TEXT["attention_mask"].clone()
            mask[example, token] = 0
            without = model(TEXT["input_ids"], mask).logits[example, target]
            wanted = model(**TEXT).logits[example, target] - without
            assert found[example, token].item() == pytest.approx(wanted.item(), abs=1e-12)


def test_a_mapping_with_one_floating_point_tensor() -> None:
    inputs: dict[str, Any] = {"pixel_values": torch.rand(2, 3), "scale": 2}
    found = axioms.attribute(Picture(), inputs, method="loo")
    torch.testing.assert_close(found.scores, 2 * inputs["pixel_values"])


@pytest.mark.parametrize("method", ["loo", "attnlrp", "integrated_gradients", "random"])
def test_batches_do_not_matter(method: str) -> None:
    torch.manual_seed(1)
    text = {"input_ids": torch.randint(10, (7, 5)), "attention_mask": torch.ones(7, 5, dtype=torch.long)}
    model = Bag().double()
    whole, parts = (axioms.attribute(model, text, method=method, batch_size=size) for size in (None, 3))
    torch.testing.assert_close(whole.scores, parts.scores)
    torch.testing.assert_close(whole.total, parts.total)


@pytest.mark.parametrize(
    ("inputs", "target", "what"),
    [
        (torch.rand(3), "predicted", "batch x features"),
        (torch.rand(0, 3), "predicted", "at least one example"),
        (torch.ones(2, 3, dtype=torch.long), "predicted", "floating-point numbers"),
        (torch.tensor([[1.0, float("nan"), 0.0]]), "predicted", "NaN or infinity"),
        (
            {"pixel_values": torch.ones(1, 2), "more": torch.ones(1, 2)},
            "predicted",
            "exactly one floating-point tensor",
        ),
        ({"scale": 2}, "predicted", "there are none among scale"),
        ({"input_ids": torch.ones(1, 2, dtype=torch.long)}, "predicted", "no get_input_embeddings"),
        (torch.rand(2, 3), 3, "3 outputs, numbered from 0"),
        (torch.rand(2, 3), -1, "3 outputs, numbered from 0"),
        (torch.rand(2, 3), "highest", "target must be 'predicted'"),
        (torch.rand(2, 3), torch.tensor([0]), "one class per example"),
        (torch.rand(2, 3), "label", "needs data with labels"),
    ],
)
def test_bad_input_is_a_sentence(inputs: Tensor | Mapping[str, Any], target: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        axioms.attribute(nn.Linear(3, 3), inputs, target=target)


@pytest.mark.parametrize(
    ("method", "options", "what"),
    [
        ("attnlrp", {"epsilonn": 1e-6}, r"'attnlrp' has no option 'epsilonn'. Did you mean 'epsilon'\?"),
        ("loo", {"epsilon": 1e-6}, "'loo' has no option 'epsilon'"),
        ("lrp", {}, "'lrp' needs the option 'rules'; `axioms list methods lrp` says what for"),
    ],
)
def test_a_wrong_option_is_a_sentence(method: str, options: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        axioms.attribute(nn.Linear(2, 2), torch.ones(1, 2), method=method, **options)


def test_unknown_method() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'attnlrp'"):
        axioms.attribute(nn.Linear(3, 3), torch.rand(1, 3), method="attn_lrp")


@pytest.mark.parametrize(
    ("returned", "what"), [((1, 2), "returned a tuple"), (torch.zeros(2, 3, 4, 5), "batch x outputs")]
)
def test_a_model_that_gives_something_else(returned: Any, what: str) -> None:
    class Strange(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return returned

    with pytest.raises(InputError, match=what):
        axioms.attribute(Strange(), torch.rand(2, 3))


def test_dropout_is_off_and_the_mode_comes_back() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 2)).train()
    x = torch.rand(4, 3)
    first, second = (axioms.attribute(model, x, method="gradient_x_input").scores for _ in range(2))
    assert torch.equal(first, second)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_api_is_small() -> None:
    assert len(axioms.__all__) <= 20
