"""Norms: the linear layers that are the only ones to read them, and the layers that a batch norm follows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm

from axioms.rewrites.patterns.layers import CONVOLUTIONS, Map, at_least_one, attribute, is_linear

QKV = ("q_proj", "k_proj", "v_proj")
READERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ln_1", ("attn.c_attn",)),
    ("ln_2", ("mlp.c_fc",)),
    ("input_layernorm", tuple(f"self_attn.{name}" for name in QKV)),
    ("input_layernorm", ("self_attn.qkv_proj",)),
    ("input_layernorm", ("attention.query_key_value",)),
    ("post_attention_layernorm", ("mlp.gate_proj", "mlp.up_proj")),
    ("post_attention_layernorm", ("mlp.gate_up_proj",)),
    ("post_attention_layernorm", ("mlp.dense_h_to_4h",)),
    ("pre_feedforward_layernorm", ("mlp.gate_proj", "mlp.up_proj")),
    ("self_attn_layer_norm", tuple(f"self_attn.{name}" for name in QKV)),
    ("final_layer_norm", ("fc1",)),
    ("layernorm_before", tuple(f"attention.{name}" for name in QKV)),
    ("layernorm_after", ("mlp.fc1",)),
    ("attn_norm", ("attn.Wqkv",)),
    ("mlp_norm", ("mlp.Wi",)),
    ("layer_norm", ("SelfAttention.q", "SelfAttention.k", "SelfAttention.v")),
    ("layer_norm", ("DenseReluDense.wi",)),
    ("norm", ("mixer.in_proj",)),
)
"""The norm of a block, and the layers of the block that read it. Its residual does not: these blocks norm first."""


class Norm(NamedTuple):
    """A norm over the last dimension with what it multiplies and adds."""

    module: Any
    eps: float
    is_centered: bool
    gain: Tensor | None
    bias: Tensor | None
    offset: float
    """What its weight lacks to be the gain: Gemma stores gain - 1."""

    def reset(self) -> None:
        """Set the gain to 1 and the bias to 0."""
        with torch.no_grad():
            if self.gain is not None:
                self.module.weight.fill_(1.0 - self.offset)
            if self.bias is not None:
                self.module.bias.fill_(0.0)


def read_norm(module: Any) -> Norm | None:
    """Return the module as a norm, or None where it is none."""
    if isinstance(module, nn.LayerNorm):
        gain, bias = (None if numbers is None else numbers.data.clone() for numbers in (module.weight, module.bias))
        return Norm(module, module.eps, True, gain, bias, 0.0)
    name = type(module).__name__
    if not name.endswith("RMSNorm") and name != "T5LayerNorm":
        return None
    weight: Tensor | None = getattr(module, "weight", None)
    offset = 1.0 if name in ("GemmaRMSNorm", "Gemma2RMSNorm", "Gemma3RMSNorm") else 0.0
    eps = getattr(module, "variance_epsilon", None) or getattr(module, "eps", None)
    eps = torch.finfo(torch.float64).eps if eps is None else eps
    return Norm(module, eps, False, None if weight is None else weight.data + offset, None, offset)


def norms_with_readers(model: nn.Module) -> list[tuple[Norm, list[Map]]]:
    """Return each norm that only linear layers read, with these layers; or raise `NotApplicable`."""
    matches = [match for module in model.modules() for match in (*_named(module), *_in_a_row(module))]
    return at_least_one(matches, "norm that linear layers alone read (a residual that reads it too rules it out)")


def layers_with_batch_norm(model: nn.Module) -> list[tuple[Map, nn.Module, str]]:
    """Return each layer that a batch norm follows, the module that owns that norm, and the norm's name there.

    They follow each other in a row, or are called `conv1` and `bn1`.
    """
    matches = []
    for owner in model.modules():
        children = dict(owner.named_children())
        if isinstance(owner, nn.Sequential):
            pairs = list(pairwise(children))
        else:
            pairs = [(re.sub("bn|norm", "conv", name), name) for name in children]
        for first, second in pairs:
            layer, norm = children.get(first), children[second]
            is_layer = is_linear(layer) or isinstance(layer, CONVOLUTIONS)
            if isinstance(norm, BatchNorm) and norm.running_mean is not None and is_layer:
                matches.append((Map.whole(layer), owner, second))
    return at_least_one(matches, "convolution or linear layer that a batch norm with running statistics follows")


def _named(block: nn.Module) -> list[tuple[Norm, list[Map]]]:
    if attribute(block, "do_layer_norm_before") is False:
        return []
    matches = []
    for name, paths in READERS:
        norm = read_norm(attribute(block, name))
        layers = [attribute(block, path) for path in paths]
        if name == "post_attention_layernorm" and attribute(block, "pre_feedforward_layernorm") is not None:
            continue  # Gemma norms what the attention gives, and the MLP's input again
        if norm is not None and norm.gain is not None and all(is_linear(layer) for layer in layers):
            matches.append((norm, [Map.whole(layer) for layer in layers]))
    return matches


def _in_a_row(module: nn.Module) -> list[tuple[Norm, list[Map]]]:
    if not isinstance(module, nn.Sequential):
        return []
    pairs = [(read_norm(norm), layer) for norm, layer in pairwise(module) if is_linear(layer)]
    return [(norm, [Map.whole(layer)]) for norm, layer in pairs if norm is not None and norm.gain is not None]
