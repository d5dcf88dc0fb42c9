"""Tiny random Transformers of every family, for checks that must hold on all of them.

Every parameter is random, biases and norms included; queries and keys are large enough for attention to be far from
uniform; there are at least two layers and two heads. Nothing passes on them by being trivial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from axioms.core.errors import InputError, did_you_mean
from axioms.core.registry import subject
from axioms.core.seeds import Seed

if TYPE_CHECKING:
    from torch import nn


class Architecture(NamedTuple):
    """A family of transformers: its configuration, its model class, and what its configuration needs to be tiny."""

    config: str
    model: str
    options: dict[str, Any]
    rotary: bool = False
    """Positions enter by rotation only, so that nothing but biases can absorb relevance."""
    backends: tuple[str, ...] = ("eager", "sdpa")


ENCODER = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
    "num_labels": 3,
}
DECODER = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "norm_topk_prob": True}

ARCHITECTURES: dict[str, Architecture] = {
    "bert": Architecture("BertConfig", "BertForSequenceClassification", ENCODER),
    "roberta": Architecture("RobertaConfig", "RobertaForSequenceClassification", {**ENCODER, "pad_token_id": 0}),
    "distilbert": Architecture(
        "DistilBertConfig",
        "DistilBertForSequenceClassification",
        {
            "vocab_size": 40,
            "dim": 16,
            "n_layers": 2,
            "n_heads": 2,
            "hidden_dim": 24,
            "max_position_embeddings": 24,
            "num_labels": 3,
        },
    ),
    "modernbert": Architecture(
        "ModernBertConfig",
        "ModernBertForSequenceClassification",
        {
            **ENCODER,
            "num_hidden_layers": 3,
            "pad_token_id": 0,
            "local_attention": 4,
            "norm_bias": True,
            "attention_bias": True,
            "mlp_bias": True,
            "reference_compile": False,
        },
        rotary=True,
    ),
    "deberta-v2": Architecture(
        "DebertaV2Config",
        "DebertaV2ForSequenceClassification",
        {
            **ENCODER,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_buckets": 4,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
            "position_biased_input": False,
        },
        backends=("eager",),
    ),
    "mpnet": Architecture(
        "MPNetConfig", "MPNetForSequenceClassification", {**ENCODER, "pad_token_id": 0}, backends=("eager",)
    ),
    "gpt2": Architecture(
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "vocab_size": 40,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 2,
            "n_positions": 24,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
    ),
    "opt": Architecture(
        "OPTConfig",
        "OPTForCausalLM",
        {**DECODER, "ffn_dim": 24, "word_embed_proj_dim": 16},
    ),
    "gpt-neox": Architecture("GPTNeoXConfig", "GPTNeoXForCausalLM", DECODER, rotary=True),
    "llama": Architecture("LlamaConfig", "LlamaForCausalLM", DECODER, rotary=True),
    "mistral": Architecture("MistralConfig", "MistralForCausalLM", {**DECODER, "sliding_window": 4}, rotary=True),
    "phi3": Architecture("Phi3Config", "Phi3ForCausalLM", DECODER, rotary=True),
    "qwen2": Architecture("Qwen2Config", "Qwen2ForCausalLM", DECODER, rotary=True),
    "qwen3": Architecture("Qwen3Config", "Qwen3ForCausalLM", {**DECODER, "head_dim": 4}, rotary=True),
    "qwen3-moe": Architecture(
        "Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**DECODER, **EXPERTS, "head_dim": 4}, rotary=True
    ),
    "gpt-oss": Architecture(
        "GptOssConfig",
        "GptOssForCausalLM",
        {
            **DECODER,
            "head_dim": 4,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
        backends=("eager",),
    ),
    "gemma3": Architecture(
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {**DECODER, "head_dim": 4, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
        rotary=True,
    ),
    "t5-encoder": Architecture(
        "T5Config",
        "T5ForTokenClassification",
        {
            "vocab_size": 40,
            "d_model": 16,
            "d_kv": 8,
            "d_ff": 24,
            "num_layers": 2,
            "num_heads": 2,
            "num_labels": 3,
            "relative_attention_num_buckets": 8,
        },
    ),
    "vit": Architecture(
        "ViTConfig",
        "ViTForImageClassification",
        {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 24,
            "image_size": 8,
            "patch_size": 4,
            "num_labels": 3,
        },
    ),
    "mamba": Architecture(
        "MambaConfig",
        "MambaForCausalLM",
        {
            "vocab_size": 40,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "state_size": 4,
            "intermediate_size": 32,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        backends=("eager",),
    ),
}


@subject("tiny")
def tiny(
    *, architecture: str, seed: Seed = 0, backend: Literal["eager", "sdpa"] = "eager", biases: bool = True
) -> nn.Module:
    """A tiny random Transformer of one of the families in axioms/subjects/models/tiny.py."""
    import transformers

    from axioms.subjects.models.modules.random import randomize

    if architecture not in ARCHITECTURES:
        raise InputError(f"unknown architecture {architecture!r}.{did_you_mean(architecture, ARCHITECTURES)}")
    family = ARCHITECTURES[architecture]
    config = getattr(transformers, family.config)(**family.options)
    config._attn_implementation = backend
    config._experts_implementation = "eager"  # the grouped kernels know no float64
    model: nn.Module = getattr(transformers, family.model)(config).double().eval()
    gains = [name for name, _ in model.named_parameters() if "norm" in name.lower() and name.endswith("weight")]
    randomize(model, seed, gains, biases=0.3 if biases else 0.0)
    return model
