"""Our AttnLRP and CP-LRP are LXT's, on models of which LXT's relevance is on file.

`tests/golden/lxt.safetensors` is written by `benchmarks/lxt_golden.py` in an environment of its own. LXT adds an
unsigned 1e-10 to denominators and has rotary tables in float32, so the agreement is to 1e-6 and not to rounding.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors import safe_open
from torch import Tensor

import axioms

GOLDEN = Path(__file__).parent.parent / "golden" / "lxt.safetensors"
CASES = [
    ("bert", "attnlrp"),
    *((model, rule) for model in ("gpt2", "llama", "qwen3") for rule in ("attnlrp", "cp_lrp")),
]


def golden(name: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What the file says of one model: its description, and its tensors."""
    with safe_open(GOLDEN, "pt") as file:
        described = json.loads(file.metadata()["golden"])["models"][name]
        tensors = {
            key.removeprefix(f"{name}/"): file.get_tensor(key)
            for key in list(file.keys())
            if key.startswith(f"{name}/")
        }
    return described, tensors


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize(("name", "method"), CASES)
def test_relevance_is_lxts(name: str, method: str, backend: str) -> None:
    described, tensors = golden(name)
    config = transformers.AutoConfig.for_model(name, **{**described["config"], "attn_implementation": backend})
    model = getattr(transformers, described["architecture"])(config)
    weights = {key.removeprefix("weights/"): value for key, value in tensors.items() if key.startswith("weights/")}
    loaded = model.load_state_dict(weights, strict=False)
    assert not loaded.unexpected_keys
    model = model.double().eval()
    ids = tensors["input_ids"]
    found = axioms.attribute(
        model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, target=tensors["target"], method=method
    )
    torch.testing.assert_close(found.output, tensors["logit"], rtol=1e-6, atol=0)
    wanted = tensors[f"relevance/{method}"]
    assert (found.scores - wanted).abs().max() / wanted.abs().max() < 1e-6


def test_the_two_methods_differ_on_these_models() -> None:
    """So that the comparison could fail."""
    for name in ("gpt2", "llama", "qwen3"):
        _, tensors = golden(name)
        difference = (tensors["relevance/attnlrp"] - tensors["relevance/cp_lrp"]).abs().max()
        assert difference / tensors["relevance/attnlrp"].abs().max() > 0.05
