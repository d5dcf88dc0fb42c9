"""`mpnet-base` with its real weights, where they are cached: what it is, and that they are the ones described."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import file_digest
from pathlib import Path
from typing import Any

import torch

from axioms.subjects.assets.manifest import read_manifest
from axioms.subjects.load import load_model

NAME = "all-mpnet-base-v2"


def test_the_joined_weights_are_the_ones_described_and_of_berts_shape(
    cached_asset: Callable[..., Path], root: Path
) -> None:
    folder = cached_asset(NAME)
    described = read_manifest(root / "fixtures" / "assets.yaml")[NAME].files
    for name, file in described.items():
        with (folder / name).open("rb") as stream:
            assert file_digest(stream, "sha256").hexdigest() == file.sha256, name
    module: Any = load_model("mpnet-base", {}, root / "specs" / "sentiment.yaml").module
    config = module.config
    assert (config.model_type, config.num_hidden_layers, config.num_attention_heads) == ("mpnet", 12, 12)
    assert (config.hidden_size, config.intermediate_size, config.num_labels) == (768, 3072, 2)
    shapes = {name: tuple(weight.shape) for name, weight in module.named_parameters()}
    assert shapes["mpnet.encoder.relative_attention_bias.weight"] == (32, 12), "one for all layers"
    assert 108e6 < sum(weight.numel() for weight in module.parameters()) < 111e6
    with torch.no_grad():
        assert module(input_ids=torch.tensor([[0, 5, 6, 2]])).logits.shape == (1, 2)
