"""Attention blocks: their query, key, value and output maps, and how the heads lie in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from axioms.rewrites.patterns.channels import Observed
from axioms.rewrites.patterns.layers import Map, at_least_one, attribute, is_linear, oriented
from axioms.rewrites.patterns.observed import observed_blocks

SEPARATE = (
    ("query", "key", "value"),
    ("query_proj", "key_proj", "value_proj"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("q", "k", "v"),
)
FUSED = ("c_attn", "qkv_proj", "Wqkv")
"""One layer whose outputs are all queries, then all keys, then all values."""
INTERLEAVED = ("query_key_value",)
"""One layer whose outputs are the query, key and value of the first head, then of the second, ..."""
OUTPUT = ("o_proj", "out_proj", "out_lin", "o", "c_proj", "Wo", "dense", "out")
HEADS = ("num_attention_heads", "num_heads", "n_heads", "n_head", "nhead", "heads")
HEAD_POSITIONS = ("relative_attention_bias", "alibi")


@dataclass(frozen=True)
class Attention:
    """O = softmax(Q K') V W_O with Q = x W_Q, ...; several query heads may share a key and value head."""

    path: str
    module: nn.Module
    query: Map
    key: Map
    value: Map
    output: Map
    heads: int

    @property
    def qkv(self) -> tuple[Map, Map, Map]:
        """The maps to queries, keys and values."""
        return self.query, self.key, self.value

    @property
    def width(self) -> int:
        """The width of a head."""
        return len(self.query.rows) // self.heads

    @property
    def shared(self) -> int:
        """The number of key and value heads."""
        return len(self.key.rows) // self.width

    @property
    def group(self) -> int:
        """The number of query heads for each key and value head."""
        return self.heads // self.shared

    @property
    def is_fused(self) -> bool:
        """Whether one layer gives queries, keys and values."""
        return self.query.layer is self.key.layer is self.value.layer

    @property
    def is_separate(self) -> bool:
        """Whether queries, keys and values have a whole layer each, with its outputs head after head."""
        whole = all(torch.equal(part.rows, Map.whole(part.layer).rows) for part in self.qkv)
        return whole and len({id(part.layer) for part in self.qkv}) == 3

    @property
    def is_normalized(self) -> bool:
        """Whether queries and keys pass a norm, so that their size does not matter."""
        return attribute(self.module, "q_norm") is not None

    def channels(self, heads: Sequence[int]) -> Tensor:
        """Return the numbers of the channels of these heads, head after head."""
        return (torch.tensor(heads).unsqueeze(1) * self.width + torch.arange(self.width)).flatten()

    def for_all_heads(self, numbers: Tensor) -> Tensor:
        """Return one number per channel of the query heads from one per channel of the heads that they share."""
        return numbers.reshape(self.shared, -1).repeat_interleave(self.group, 0).flatten()


def attentions(model: nn.Module) -> list[Attention]:
    """Return every attention block, by the names of its maps or else by what it computes, or raise `NotApplicable`."""
    modules = dict(model.named_modules())
    named = [_attention(path, module, modules) for path, module in modules.items()]
    blocks = [block for block in named if block is not None]
    if not blocks:
        computed = [_recognized(block, modules) for block in observed_blocks(model)]
        blocks = [block for block in computed if block is not None]
    return at_least_one(blocks, "attention block with maps to q, k, v and from o")


def _recognized(block: Observed, modules: dict[str, nn.Module]) -> Attention | None:
    """Return a block that was seen in a forward pass; None where its heads do not fit each other."""
    query, key, value = (part.heads for part in (block.query, block.key, block.value))
    if query is None or key is None or value is None or len(key) != len(value):
        return None
    shared = len(torch.unique(key[:, 0]))
    group = len(key) // shared  # more than one where keys were repeated for the queries that share them
    if not (torch.equal(key, key[::group].repeat_interleave(group, 0)) and len(query) % shared == 0):
        return None
    if not torch.equal(value, value[::group].repeat_interleave(group, 0)):
        return None
    path = next(path for path, module in modules.items() if module is block.output)
    recognized = Attention(
        path,
        modules[path.rpartition(".")[0]],
        Map(block.query.layer, query.flatten()),
        Map(block.key.layer, key[::group].flatten()),
        Map(block.value.layer, value[::group].flatten()),
        Map.whole(block.output),
        len(query),
    )
    return _checked(recognized, block.output.in_features)


def heads_have_positions(model: nn.Module) -> bool:
    """Whether heads have position biases of their own, which do not move with the weights."""
    return any(attribute(module, name) is not None for module in model.modules() for name in HEAD_POSITIONS)


def _attention(path: str, module: nn.Module, modules: dict[str, nn.Module]) -> Attention | None:
    output = _output(path, module, modules)
    if output is None:
        return None
    inputs = oriented(output).shape[1]
    heads = _heads(module)
    for names in SEPARATE:
        layers = [getattr(module, name, None) for name in names]
        if all(is_linear(layer) for layer in layers):
            q, k, v = (Map.whole(layer) for layer in layers)
            return _checked(Attention(path, module, q, k, v, Map.whole(output), heads), inputs)
    for name in FUSED:
        layer = getattr(module, name, None)
        if is_linear(layer):
            q, k, v = _blocks(layer, inputs)
            return _checked(Attention(path, module, q, k, v, Map.whole(output), heads), inputs)
    for name in INTERLEAVED:
        layer = getattr(module, name, None)
        if is_linear(layer) and len(oriented(layer)) == 3 * inputs:
            rows = torch.arange(3 * inputs).reshape(heads, 3, -1)
            q, k, v = (Map(layer, rows[:, index].flatten()) for index in range(3))
            return _checked(Attention(path, module, q, k, v, Map.whole(output), heads), inputs)
    return None


def _blocks(layer: Any, queries: int) -> Sequence[Map]:
    """Return the three maps of a layer: queries as wide as what the output map reads, the others share the rest."""
    outputs = torch.arange(len(oriented(layer)))
    shared = (len(outputs) - queries) // 2
    return [Map(layer, rows) for rows in outputs.split([queries, shared, shared])]


def _checked(attention: Attention, inputs: int) -> Attention | None:
    """Return the block, or None where the sizes say that it is something else."""
    queries, keys, values = (len(part.rows) for part in attention.qkv)
    fits = queries == inputs and keys == values and queries % attention.heads == 0
    return attention if fits and keys % attention.width == 0 else None


def _output(path: str, module: nn.Module, modules: dict[str, nn.Module]) -> Any:
    for name in OUTPUT:
        if is_linear(getattr(module, name, None)):
            return getattr(module, name)
    beside = attribute(modules[path.rpartition(".")[0]], "output.dense")  # BERT keeps it next to the attention
    return beside if is_linear(beside) else None


def _heads(module: nn.Module) -> int:
    for owner in (module, getattr(module, "config", None)):
        for name in HEADS:
            if isinstance(getattr(owner, name, None), int):
                return int(getattr(owner, name))
    return 1
