"""Merging is exact: the merged model against the adapters left in place, in float64, on a small random BERT."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel, MPNetConfig, MPNetModel

from axioms.core.errors import InputError
from axioms.subjects.models.lora import lora_classifier, merge

SCALE = 2.0
IDS = torch.tensor([[2, 5, 6, 7, 8, 9, 3], [2, 13, 12, 3, 0, 0, 0]])
MASK = (IDS != 0).long()
LAYER = "bert.encoder.layer.1.intermediate.dense"


@pytest.fixture
def difference(base: Path) -> dict[str, Tensor]:
    """Random adapters on all six matrices of each layer, a pooler and a head."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).half()

    made = {}
    for name, module in BertModel.from_pretrained(base).named_modules():
        if isinstance(module, nn.Linear) and ".layer." in name:
            made[f"bert.{name}.lora_a"] = draw(3, module.in_features)
            made[f"bert.{name}.lora_b"] = draw(module.out_features, 3)
    assert len(made) == 2 * 2 * 6
    made |= {"bert.pooler.dense.weight": draw(16, 16), "bert.pooler.dense.bias": draw(16)}
    return made | {"classifier.weight": draw(2, 16), "classifier.bias": draw(2)}


def written(difference: dict[str, Tensor], folder: Path, metadata: dict[str, str] | None) -> dict[str, str]:
    file = folder / "difference.safetensors"
    save_file(difference, file, metadata)
    return {"difference": str(file)}


def with_adapters_in_place(base: Path, difference: dict[str, Tensor]) -> nn.Module:
    """The oracle: transformers' own loading in float64, every adapted layer's output + scale (x A') B'."""
    model = BertForSequenceClassification.from_pretrained(base, num_labels=2).double().eval()
    state = {name: tensor.double() for name, tensor in difference.items() if "lora" not in name}
    model.load_state_dict(state, strict=False)

    def adapter(name: str) -> Callable[[nn.Module, tuple[Tensor], Tensor], Tensor]:
        down, up = difference[f"{name}.lora_a"].double(), difference[f"{name}.lora_b"].double()
        return lambda module, given, output: output + SCALE * (given[0] @ down.T @ up.T)

    for name, module in model.named_modules():
        if f"{name}.lora_a" in difference:
            module.register_forward_hook(adapter(name))
    return model


def test_the_merged_model_gives_the_logits_of_the_adapters_left_in_place(
    base: Path, difference: dict[str, Tensor], tmp_path: Path
) -> None:
    with torch.no_grad():
        expected = with_adapters_in_place(base, difference)(input_ids=IDS, attention_mask=MASK).logits
        plain = BertForSequenceClassification.from_pretrained(base, num_labels=2).double().eval()
        plain.load_state_dict(
            {name: tensor.double() for name, tensor in difference.items() if "lora" not in name}, False
        )
        without = plain(input_ids=IDS, attention_mask=MASK).logits
        files = written(difference, tmp_path, {"scale": str(SCALE)})
        built = lora_classifier(asset=str(base), files=files)
        single = built.module(input_ids=IDS, attention_mask=MASK).logits
        double = built.module.double()(input_ids=IDS, attention_mask=MASK).logits
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), expected, rtol=1e-4, atol=1e-4)  # two layers of float32
    torch.testing.assert_close(double, expected, rtol=1e-5, atol=1e-5)  # only W + scale B A was rounded
    assert (without - expected).abs().min() > 1e-2  # the adapters matter here


def test_tokenizer_and_labels_come_with_it(base: Path, difference: dict[str, Tensor], tmp_path: Path) -> None:
    built = lora_classifier(asset=str(base), files=written(difference, tmp_path, {"scale": "1"}))
    assert built.tokenizer("the film is not bad")["input_ids"] == [2, 5, 6, 7, 10, 9, 3]
    module: Any = built.module
    assert module.config.id2label == {0: "negative", 1: "positive"}
    assert not built.module.training


def test_a_head_of_two_layers_is_a_classifier_too(tmp_path: Path, base: Path) -> None:
    """RoBERTa and MPNet have their class scores in `classifier.out_proj`."""
    folder = tmp_path / "mpnet"
    MPNetModel(MPNetConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)).save_pretrained(
        folder
    )
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    difference = {
        "classifier.dense.weight": torch.eye(8),
        "classifier.dense.bias": torch.zeros(8),
        "classifier.out_proj.weight": torch.zeros(3, 8),
        "classifier.out_proj.bias": torch.tensor([1.0, 2.0, 3.0]),
    }
    built = lora_classifier(asset=str(folder), files=written(difference, tmp_path, {"scale": "1"}))
    assert built.module(input_ids=IDS).logits.tolist() == [[1.0, 2.0, 3.0]] * 2


@given(seed=st.integers(0, 99), scale=st.floats(-4, 4), rank=st.integers(1, 4))
def test_merge_is_w_plus_scale_b_a_and_leaves_the_rest(seed: int, scale: float, rank: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight, down, up, other = (
        torch.randn(*shape, generator=generator) for shape in ((5, 3), (rank, 3), (5, rank), (2, 2))
    )
    base = {"layer.weight": weight.clone(), "other.weight": other, "same": other}
    merged = merge(base, {"layer.lora_a": down, "layer.lora_b": up, "other.weight": 2 * other}, scale)
    expected = weight.double() + scale * torch.einsum("or,ri->oi", up.double(), down.double())
    torch.testing.assert_close(merged["layer.weight"].double(), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(merged["other.weight"], 2 * other)
    torch.testing.assert_close(merged["same"], other)
    assert set(merged) == set(base)
    assert torch.equal(base["layer.weight"], weight)


def drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda difference: difference.pop(name)


def narrow(difference: dict[str, Any]) -> None:
    difference[f"{LAYER}.lora_a"] = torch.zeros(3, 7)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (drop(f"{LAYER}.lora_b"), "there is no bert.encoder.layer.1.intermediate.dense.lora_b"),
        (drop(f"{LAYER}.lora_a"), "without bert.encoder.layer.1.intermediate.dense.lora_a"),
        (narrow, r"factors \(24, 3\) x \(3, 7\) do not fit the weight \(24, 16\)"),
        (drop("classifier.weight"), "neither the base weights nor the difference have classifier.weight"),
        (drop("classifier.bias"), "no classifier.bias"),
    ],
)
def test_a_difference_that_does_not_fit_is_refused(
    base: Path, difference: dict[str, Tensor], tmp_path: Path, spoil: Callable[[dict[str, Tensor]], None], sentence: str
) -> None:
    spoil(difference)
    with pytest.raises(InputError, match=sentence):
        lora_classifier(asset=str(base), files=written(difference, tmp_path, {"scale": "1"}))


def test_a_file_without_a_scale_is_refused(base: Path, difference: dict[str, Tensor], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no `scale`"):
        lora_classifier(asset=str(base), files=written(difference, tmp_path, None))
