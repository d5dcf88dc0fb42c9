"""Checkpoints of llama2.c (Karpathy 2023), with the tokenizer behind the weights, as a Llama of transformers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.subjects.assets.conversions.pieces import BYTES, SPACE, SPECIAL, Piece
from axioms.subjects.assets.download import FetchFailed

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Checkpoint:
    """What one file holds."""

    config: dict[str, Any]
    tensors: dict[str, np.ndarray]
    pieces: list[Piece]


def read_checkpoint(file: Path) -> Checkpoint:
    """Return the model and the tokenizer of a file: seven integers, then the weights, then the tokens."""
    import numpy as np

    content = file.read_bytes()
    names = ("dim", "hidden", "layers", "heads", "key_heads", "vocabulary", "positions")
    sizes = dict(zip(names, struct.unpack_from("<7i", content), strict=True))
    reader = _Weights(np.frombuffer(content[: len(content) // 4 * 4], "<f4"), len(names))
    try:
        tensors = _read_tensors(reader, sizes)
        pieces = _read_pieces(content, reader.at * 4, abs(sizes["vocabulary"]))
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        raise FetchFailed(f"holds a {file.name} that is no checkpoint of llama2.c ({error})") from None
    return Checkpoint(_config(sizes), tensors, pieces)


class _Weights:
    """Numbers that are taken from the front, one tensor at a time."""

    def __init__(self, numbers: np.ndarray, at: int) -> None:
        self.numbers, self.at = numbers, at

    def take(self, *shape: int) -> np.ndarray:
        """Return the next tensor."""
        import math

        start, self.at = self.at, self.at + math.prod(shape)
        return self.numbers[start : self.at].reshape(shape)


def _read_tensors(reader: _Weights, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    dim, hidden, layers = sizes["dim"], sizes["hidden"], sizes["layers"]
    head = dim // sizes["heads"]
    keys = sizes["key_heads"] * head
    embedding = reader.take(abs(sizes["vocabulary"]), dim)
    stacked = {
        "input_layernorm": reader.take(layers, dim),
        "self_attn.q_proj": _halves(reader.take(layers, dim, dim), head),
        "self_attn.k_proj": _halves(reader.take(layers, keys, dim), head),
        "self_attn.v_proj": reader.take(layers, keys, dim),
        "self_attn.o_proj": reader.take(layers, dim, dim),
        "post_attention_layernorm": reader.take(layers, dim),
        "mlp.gate_proj": reader.take(layers, hidden, dim),
        "mlp.down_proj": reader.take(layers, dim, hidden),
        "mlp.up_proj": reader.take(layers, hidden, dim),
    }
    norm = reader.take(dim)
    reader.take(sizes["positions"], head)  # cosines and sines of the positions, which are computed
    is_shared = sizes["vocabulary"] > 0
    return {
        "model.embed_tokens.weight": embedding,
        "model.norm.weight": norm,
        **({} if is_shared else {"lm_head.weight": reader.take(*embedding.shape)}),
        **{f"model.layers.{n}.{name}.weight": stack[n] for name, stack in stacked.items() for n in range(layers)},
    }


def _halves(stack: np.ndarray, head: int) -> np.ndarray:
    """Return rows of queries or keys in transformers' order: llama2.c turns neighbours, transformers the two halves."""
    layers, rows, dim = stack.shape
    return stack.reshape(layers, rows // head, head // 2, 2, dim).swapaxes(2, 3).reshape(layers, rows, dim)


def _config(sizes: dict[str, int]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": sizes["dim"],
        "intermediate_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "num_key_value_heads": sizes["key_heads"],
        "vocab_size": abs(sizes["vocabulary"]),
        "max_position_embeddings": sizes["positions"],
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "tie_word_embeddings": sizes["vocabulary"] > 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def _read_pieces(content: bytes, start: int, count: int) -> list[Piece]:
    """Return the tokens: the length of the longest, then for each its score, its length and its bytes."""
    pieces, at = [], start + 4
    for number in range(count):
        score, length = struct.unpack_from("<fi", content, at)
        text = content[at + 8 : at + 8 + length].decode()
        at += 8 + length
        if number < len(SPECIAL):
            text = SPECIAL[number]
        elif number < len(SPECIAL) + BYTES:
            text = f"<0x{number - len(SPECIAL):02X}>"
        pieces.append((text.replace(" ", SPACE), score))
    return pieces
