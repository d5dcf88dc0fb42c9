"""Architectures that nobody wrote a line for: each works, or says what it lacks."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import transformers

import axioms
from axioms.core.errors import InputError, NotDefined, RewriteError, UncoveredOperation
from axioms.model.inputs import read_inputs
from axioms.rewrites.apply import checked_rewrite

DECODER = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
SCAN = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}
WORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "Falcon": ("FalconForCausalLM", DECODER),
    "Bloom": ("BloomForCausalLM", {"vocab_size": 40, "hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "Mixtral": ("MixtralForCausalLM", {**DECODER, "num_key_value_heads": 1, "num_local_experts": 4}),
    "Mamba2": (
        "Mamba2ForCausalLM",
        {
            "vocab_size": 40,
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_heads": 4,
            "head_dim": 8,
            "state_size": 4,
            "n_groups": 1,
        },
    ),
    "GPTJ": ("GPTJForCausalLM", {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "rotary_dim": 4}),
    "Olmo2": ("Olmo2ForCausalLM", DECODER),
    "Electra": ("ElectraForSequenceClassification", {**DECODER, "embedding_size": 16}),
    "Albert": ("AlbertForSequenceClassification", {**DECODER, "embedding_size": 8}),
    "Jamba": (  # attention, experts and selective scans in one model
        "JambaForCausalLM",
        {
            **DECODER,
            "num_key_value_heads": 1,
            "use_mamba_kernels": False,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "mamba_d_state": 4,
            "mamba_dt_rank": 4,
            "num_experts": 2,
        },
    ),
    "FalconMamba": ("FalconMambaForCausalLM", {**SCAN, "time_step_rank": 4}),
    "Bamba": (  # attention and Mamba-2
        "BambaForCausalLM",
        {
            **DECODER,
            "num_key_value_heads": 1,
            "attn_layer_indices": [1],
            "mamba_n_heads": 4,
            "mamba_d_head": 8,
            "mamba_d_state": 4,
            "mamba_n_groups": 1,
        },
    ),
    "Glm": ("GlmForCausalLM", {**DECODER, "num_key_value_heads": 1, "head_dim": 8}),
    "Glm4": ("Glm4ForCausalLM", {**DECODER, "num_key_value_heads": 1, "head_dim": 8}),
    "Gemma2": ("Gemma2ForCausalLM", {**DECODER, "num_key_value_heads": 1, "head_dim": 8}),
    "Exaone4": ("Exaone4ForCausalLM", {**DECODER, "num_key_value_heads": 1}),
    "ConvBert": ("ConvBertForSequenceClassification", {**DECODER, "embedding_size": 16}),  # a softmax over kernels
    "CTRL": ("CTRLLMHeadModel", {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "dff": 24}),  # in place
    "MobileBert": (  # without norms: as wide as its default, random weights saturate every softmax and gradients are 0
        "MobileBertForSequenceClassification",
        {**DECODER, "embedding_size": 16, "intra_bottleneck_size": 16, "num_feedforward_networks": 2},
    ),
    "Funnel": (
        "FunnelForSequenceClassification",
        {"vocab_size": 40, "block_sizes": [2, 2], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24},
    ),
}
PROPHET = (
    "ProphetNetForCausalLM",
    {
        "vocab_size": 40,
        "hidden_size": 16,
        "decoder_ffn_dim": 24,
        "num_decoder_layers": 2,
        "num_decoder_attention_heads": 2,
        "is_decoder": True,
        "add_cross_attention": False,
    },
)


def build(name: str, model: str, options: dict[str, Any]) -> Any:
    config = getattr(transformers, f"{name}Config")(**options)
    config._attn_implementation = config._experts_implementation = "eager"
    config.pad_token_id = 0
    torch.manual_seed(0)
    built = getattr(transformers, model)(config).double().eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, dtype=torch.float64))
    return built


def text() -> dict[str, torch.Tensor]:
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {
        "input_ids": torch.randint(3, 40, (2, 7), generator=torch.Generator().manual_seed(1)),
        "attention_mask": mask,
    }


@pytest.mark.parametrize("method", ["attnlrp", "cp_lrp"])
@pytest.mark.parametrize("name", WORKS)
def test_works_with_no_new_code(name: str, method: str) -> None:
    """Checked by the ledger: an operation that crossed by a wrong rule would be unexplained."""
    found = axioms.attribute(build(name, *WORKS[name]), text(), method=method, ledger=True)
    assert found.ledger is not None
    assert abs(found.ledger.unexplained / found.ledger.output) < 1e-9
    assert found.scores.abs().max() > 0


REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "FNet": ("FNetForSequenceClassification", DECODER, "fft_fftn", "fnet.encoder.layer.0.fourier.self"),
    "Rwkv": (
        "RwkvForCausalLM",
        {**DECODER, "attention_hidden_size": 16},
        "sigmoid",
        "rwkv.blocks.0.attention",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_without_a_rule_is_named_with_its_module(name: str) -> None:
    model, options, operation, path = REFUSED[name]
    with pytest.raises(UncoveredOperation, match=f"no rule covers '{operation}' in module '{re.escape(path)}'"):
        axioms.attribute(build(name, model, options), text())


def test_one_that_does_not_says_what_it_lacks() -> None:
    options = {"vocab_size": 40, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24}
    with pytest.raises(InputError, match="embeds its tokens in another layout"):
        axioms.attribute(build("XLNet", "XLNetForSequenceClassification", options), text())


GATES_HELD = {"rules": [{"on": "gate", "rule": "stop"}]}
KNOWING = {  # methods that know something of the values on their way
    "attnlrp": {},
    "cp_lrp": {},
    "degree_lrp": {},
    "block_lrp": {"nodes": 2},
    "removal_taylor": {},
}
NOT_BY_DEFAULT = {
    "GptOss": ("GptOssForCausalLM", {**DECODER, "num_key_value_heads": 1, "head_dim": 8, "num_local_experts": 4}),
    "ProphetNet": PROPHET,  # in float64 it needs a mask of that dtype
}


@pytest.mark.parametrize("rewrite", ["insert_views", "insert_identities"])
@pytest.mark.parametrize("name", [*WORKS, *NOT_BY_DEFAULT])
def test_what_changes_no_number_changes_no_attribution(name: str, rewrite: str) -> None:
    """GPT-OSS has a sigmoid in its experts, for which AttnLRP has no rule: there it is held constant."""
    model = build(name, *(WORKS | NOT_BY_DEFAULT)[name])
    given = text()
    if name == "ProphetNet":
        given["attention_mask"] = given["attention_mask"].double()
    rewritten, _ = checked_rewrite(rewrite, {}, model, read_inputs(model, given), 2)
    methods = {"lrp": GATES_HELD, "removal_taylor": {}} if name == "GptOss" else KNOWING
    compared = 0
    for method, options in methods.items():
        try:
            plain = axioms.attribute(model, given, method=method, **options).scores
        except InputError:  # no attention, or a mask that moves positions
            continue
        scores = axioms.attribute(rewritten.module, given, method=method, **options).scores
        torch.testing.assert_close(scores, plain, rtol=1e-8, atol=1e-9 * float(plain.abs().max()))
        compared += 1
    assert compared >= min(3, len(methods))


def test_a_model_that_gives_nan_by_itself_is_not_blamed_on_the_rewrite() -> None:
    """ProphetNet makes float32 of an integer mask and multiplies it by float64's lowest number: 0 * -inf."""
    model = build("ProphetNet", *PROPHET)
    with torch.no_grad():
        assert model(**text()).logits.isnan().any()
    with pytest.raises(RewriteError, match="ProphetNetForCausalLM itself gives NaN"):
        checked_rewrite("insert_views", {}, model, read_inputs(model, text()), 2)


def test_rollout_where_layers_attend_over_fewer_positions_is_a_sentence() -> None:
    with pytest.raises(NotDefined, match="needs one position per feature"):
        axioms.attribute(build("Funnel", *WORKS["Funnel"]), text(), method="attention_rollout")
