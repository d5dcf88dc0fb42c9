"""Checkpoints of llama2.c: the converted Llama computes what the C program computes, re-implemented here in float64."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from axioms.subjects.assets.conversions import convert
from axioms.subjects.assets.download import FetchFailed
from axioms.subjects.assets.sources import Conversion
from axioms.subjects.models.hub import load
from axioms.subjects.models.language import LanguageModel

DIM, HIDDEN, LAYERS, HEADS, KEY_HEADS, POSITIONS = 16, 24, 2, 4, 2, 10
WORDS = [(" ", -5.0), ("a", -6.0), ("b", -7.0), (" a", -1.0), ("ab", -2.0), (" ab", -3.0), ("abb", -9.0)]
PIECES = [("<unk>", 0.0), ("\n<s>\n", 0.0), ("\n</s>\n", 0.0), *((chr(byte), 0.0) for byte in range(256)), *WORDS]
Weights = dict[str, np.ndarray]


def drawn(vocabulary: int, *, is_shared: bool) -> Weights:
    rng = np.random.default_rng(0)
    keys = DIM // HEADS * KEY_HEADS
    shapes = {
        "embedding": (vocabulary, DIM),
        "norm_1": (LAYERS, DIM),
        "q": (LAYERS, DIM, DIM),
        "k": (LAYERS, keys, DIM),
        "v": (LAYERS, keys, DIM),
        "o": (LAYERS, DIM, DIM),
        "norm_2": (LAYERS, DIM),
        "w1": (LAYERS, HIDDEN, DIM),
        "w2": (LAYERS, DIM, HIDDEN),
        "w3": (LAYERS, HIDDEN, DIM),
        "norm": (DIM,),
        "positions": (POSITIONS, DIM // HEADS),
        **({} if is_shared else {"head": (vocabulary, DIM)}),
    }
    return {name: rng.normal(size=shape).astype(np.float32) * 0.4 for name, shape in shapes.items()}


def write(file: Path, weights: Weights, *, is_shared: bool) -> None:
    vocabulary = len(PIECES) if is_shared else -len(PIECES)
    header = struct.pack("<7i", DIM, HIDDEN, LAYERS, HEADS, KEY_HEADS, vocabulary, POSITIONS)
    tokens = b"".join(struct.pack("<fi", score, len(text.encode())) + text.encode() for text, score in PIECES)
    file.write_bytes(header + b"".join(w.tobytes() for w in weights.values()) + struct.pack("<i", 9) + tokens)


def converted(folder: Path, *, is_shared: bool = True) -> tuple[LanguageModel, Weights]:
    weights = drawn(len(PIECES), is_shared=is_shared)
    (folder / "raw").mkdir()
    write(folder / "raw" / "model.bin", weights, is_shared=is_shared)
    convert(Conversion(format="llama2.c", members={"model.bin": "f" * 64}), folder / "raw", folder)
    return load("causal-lm", str(folder), None), weights


def normalized(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean() + 1e-5) * weight


def turned(vector: np.ndarray, position: int, head: int) -> np.ndarray:
    """Turn neighbouring numbers of each head by an angle that depends on the position, as run.c does."""
    out = vector.copy()
    for i in range(0, len(vector), 2):
        angle = position / 10000 ** ((i % head) / head)
        a, b = vector[i], vector[i + 1]
        out[i], out[i + 1] = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
    return out


def run_c(weights: Weights, tokens: list[int], heads: int = HEADS) -> np.ndarray:
    """Return the logits after the last token, one token after the other, as `transformer()` in run.c does."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    layers, dim, _ = w["q"].shape
    head = dim // heads
    readers = dim // w["k"].shape[1]  # heads that share the keys of one
    keys: list[list[np.ndarray]] = [[] for _ in range(layers)]
    values: list[list[np.ndarray]] = [[] for _ in range(layers)]
    for position, token in enumerate(tokens):
        x = w["embedding"][token].copy()
        for layer in range(layers):
            y = normalized(x, w["norm_1"][layer])
            query = turned(w["q"][layer] @ y, position, head)
            keys[layer].append(turned(w["k"][layer] @ y, position, head))
            values[layer].append(w["v"][layer] @ y)
            mixed = np.zeros(dim)
            for h in range(heads):
                shared = slice(h // readers * head, (h // readers + 1) * head)
                own = slice(h * head, (h + 1) * head)
                scores = np.array([query[own] @ key[shared] for key in keys[layer]]) / np.sqrt(head)
                attention = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                mixed[own] = sum(a * value[shared] for a, value in zip(attention, values[layer], strict=True))
            x = x + w["o"][layer] @ mixed
            y = normalized(x, w["norm_2"][layer])
            gate = w["w1"][layer] @ y
            x = x + w["w2"][layer] @ (gate / (1 + np.exp(-gate)) * (w["w3"][layer] @ y))
    return w.get("head", w["embedding"]) @ normalized(x, w["norm"])


NAMES = {
    "norm_1": "input_layernorm",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "norm_2": "post_attention_layernorm",
    "w1": "mlp.gate_proj",
    "w2": "mlp.down_proj",
    "w3": "mlp.up_proj",
}
"""What transformers calls the weights of a layer."""


def as_written(file: Path, heads: int) -> Weights:
    """Return a converted file's weights as the program has them, with the two numbers that are turned side by side."""
    tensors = {name: tensor.numpy() for name, tensor in load_file(file).items()}
    layers = sum(name.endswith(f".{NAMES['q']}.weight") for name in tensors)
    weights = {
        name: np.stack([tensors[f"model.layers.{layer}.{theirs}.weight"] for layer in range(layers)])
        for name, theirs in NAMES.items()
    }
    half = weights["q"].shape[1] // heads // 2
    for name in ("q", "k"):
        order = [row + part * half for row in range(half) for part in (0, 1)]
        rows = [start + row for start in range(0, weights[name].shape[1], 2 * half) for row in order]
        weights[name] = weights[name][:, rows]
    return {**weights, "embedding": tensors["model.embed_tokens.weight"], "norm": tensors["model.norm.weight"]}


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_logits_are_those_of_the_program(is_shared: bool, tmp_path: Path) -> None:
    model, weights = converted(tmp_path, is_shared=is_shared)
    tokens = [1, 262, 260, 7, 259, 100]
    with torch.no_grad():
        logits = model.module(torch.tensor([tokens])).logits[0, -1]
    np.testing.assert_allclose(logits.numpy(), run_c(weights, tokens), atol=2e-5)


def test_tokens_are_joined_by_their_scores(tmp_path: Path) -> None:
    tokenizer = converted(tmp_path)[0].tokenizer
    # " a" has a better score than "ab", so "ab" is not joined first; then " a" and "b" are.
    assert tokenizer.tokenize("ab") == ["▁ab"]
    assert tokenizer.tokenize("aab") == ["▁a", "ab"]
    assert tokenizer.tokenize("bé") == ["▁", "b", "<0xC3>", "<0xA9>"]
    ids = tokenizer("ab a")["input_ids"]
    assert ids == [1, 264, 262]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab a"
    assert tokenizer.model_max_length == POSITIONS


def test_a_file_that_is_too_short(tmp_path: Path) -> None:
    converted(tmp_path)
    file = tmp_path / "raw" / "model.bin"
    file.write_bytes(file.read_bytes()[:-10_000])
    with pytest.raises(FetchFailed, match=r"holds a model.bin that is no checkpoint of llama2.c"):
        convert(Conversion(format="llama2.c", members={"model.bin": "f" * 64}), tmp_path / "raw", tmp_path)


def test_what_is_converted_can_be_turned_back(tmp_path: Path) -> None:
    _, weights = converted(tmp_path)
    back = as_written(tmp_path / "model.safetensors", HEADS)
    for name, array in back.items():
        np.testing.assert_array_equal(array, weights[name], err_msg=name)


def test_the_logits_of_the_real_one_are_those_of_the_program(cached_asset: Callable[..., Path]) -> None:
    folder = cached_asset("stories15M")
    model = load("causal-lm", str(folder), None)
    module: Any = model.module
    heads = module.config.num_attention_heads
    tokens = model.tokenizer("Once upon a time, there was a little girl named Lily.")["input_ids"]
    with torch.no_grad():
        logits = module.double()(torch.tensor([tokens])).logits[0, -1].numpy()
    expected = run_c(as_written(folder / "model.safetensors", heads), tokens, heads)
    assert expected.shape == (32000,)
    np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert np.ptp(expected) > 10, "logits far apart, beside which that is little"


def test_the_real_one_tells_a_story(cached_asset: Callable[..., Path]) -> None:
    model = load("causal-lm", str(cached_asset("stories15M")), None)
    given = model.tokenizer("Once upon a time", return_tensors="pt")
    assert given["input_ids"].tolist() == [[1, 9038, 2501, 263, 931]], "the tokens of Llama 2"
    module: Any = model.module
    said = module.generate(given["input_ids"], max_new_tokens=12, do_sample=False)
    text = model.tokenizer.decode(said[0], skip_special_tokens=True)
    assert text == "Once upon a time, there was a little girl named Lily. She loved"
