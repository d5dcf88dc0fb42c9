"""The script that trained `bert-small12`, on a small random BERT: what it trains, and what its compression keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForSequenceClassification

from axioms.subjects.models.lora import UP, lora_classifier, merge


@pytest.fixture(scope="module")
def train(script: Callable[[str], Any]) -> Any:
    return script("bert_small12/train.py")


@pytest.mark.parametrize(("trained", "layers"), [("all", True), ("head", False)])
def test_what_is_trained_and_what_stays_as_it_is(
    train: Any, base: Path, reviews: Path, tmp_path: Path, trained: str, layers: bool
) -> None:
    output, whole = tmp_path / "seed{seed}.safetensors", tmp_path / "whole.safetensors"
    given = ["--base", base, "--reviews", reviews, "--output", output, "--whole", whole, "--trained", trained]
    train.main([*map(str, given), "--rate", "1e-3", "--seed", "3", "--rank", "2"])
    changed = load_file(whole)
    assert {"bert.pooler.dense.weight", "classifier.weight"} <= set(changed)
    assert any(".layer." in name for name in changed) == layers
    assert not any("embeddings" in name for name in changed)
    assert sorted(file.name for file in tmp_path.glob("*.safetensors")) == ["seed3.safetensors", "whole.safetensors"]
    compressed = load_file(tmp_path / "seed3.safetensors")
    assert any(name.endswith(UP) for name in compressed) == layers
    assert {tensor.dtype for tensor in compressed.values()} <= {torch.float8_e4m3fn, torch.float16}
    lora_classifier(asset=str(base), files={"difference": str(tmp_path / "seed3.safetensors")})  # it can be loaded


def test_a_difference_of_low_rank_survives_compression_but_for_eight_bits(train: Any, base: Path) -> None:
    before = dict(BertForSequenceClassification.from_pretrained(base, num_labels=2).state_dict())
    generator = torch.Generator().manual_seed(0)
    name = "bert.encoder.layer.0.intermediate.dense.weight"
    rows, columns = before[name].shape
    left, right = torch.randn(rows, 2, generator=generator), torch.randn(2, columns, generator=generator)
    difference = 1e-3 * left @ right
    trained = {name: before[name] + difference, "classifier.bias": torch.tensor([0.5, -0.25])}
    tensors, metadata = train.compress(before, trained, rank=2)
    merged = merge(before, tensors, float(metadata["scale"]))
    error = torch.linalg.norm(merged[name] - trained[name]) / torch.linalg.norm(difference)
    assert 1e-4 < error < 0.06  # e4m3 keeps three bits behind the point: at most 1 / 16 off
    assert merged["classifier.bias"].tolist() == [0.5, -0.25]
    untouched = "bert.encoder.layer.0.output.dense.weight"
    assert torch.equal(merged[untouched], before[untouched])


def test_seeds_differ_from_the_first_step(train: Any, base: Path) -> None:
    heads = []
    for seed in (0, 0, 1):
        model = BertForSequenceClassification.from_pretrained(base, num_labels=2)
        train.prepare(model, "all", seed)
        heads.append(model.classifier.weight.detach().clone())
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
