"""PA-LRP against the authors' rules, written out for Llama, and against a model in which positions are tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import axioms
from axioms.core.dtypes import KeepFloat64
from axioms.core.errors import InputError
from axioms.subjects.models.tiny import tiny

IDS = torch.tensor([[5, 7, 11, 13, 9], [8, 30, 21, 4, 17]])
TARGET = torch.tensor([3, 25])


def given(ids: Tensor) -> dict[str, Tensor]:
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def half(product: Tensor) -> Tensor:
    """The uniform rule of two factors: the value, with half of the gradient."""
    return product / 2 + (product / 2).detach()


def rms(module: Any, x: Tensor) -> Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + module.variance_epsilon).detach() * module.weight


def silu(x: Tensor) -> Tensor:
    """The identity rule: gradient silu(x) / x."""
    return x * torch.sigmoid(x).detach()


def rotated(v: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    size = v.shape[-1] // 2
    return half(v * cos) + half(torch.cat([-v[..., size:], v[..., :size]], dim=-1) * sin)


def llama_by_hand(model: Any, ids: Tensor, target: int, absolute: bool) -> Tensor:
    """One example: Gradient x Input of a forward pass with the authors' rules, cosines and sines a leaf per layer."""
    body = model.model
    embedded = body.embed_tokens.weight[ids].detach().requires_grad_()
    tables = body.rotary_emb(embedded.unsqueeze(0), torch.arange(len(ids)).unsqueeze(0))
    leaves = []
    x = embedded
    for layer in body.layers:
        cos, sin = (table[0].detach().clone().requires_grad_() for table in tables)
        leaves += [cos, sin]
        own, normed = layer.self_attn, rms(layer.input_layernorm, x)
        q, k, v = (
            (normed @ part.weight.T).reshape(len(ids), -1, own.head_dim).transpose(0, 1)
            for part in (own.q_proj, own.k_proj, own.v_proj)
        )
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k, v = (each.repeat_interleave(own.num_key_value_groups, dim=0) for each in (k, v))
        logits = half(q @ k.transpose(1, 2)) * own.scaling
        weights = torch.softmax(logits.masked_fill(torch.ones_like(logits).triu(1).bool(), -torch.inf), dim=-1)
        x = x + half(weights @ v).transpose(0, 1).flatten(1) @ own.o_proj.weight.T
        normed, mlp = rms(layer.post_attention_layernorm, x), layer.mlp
        gated = half(silu(normed @ mlp.gate_proj.weight.T) * (normed @ mlp.up_proj.weight.T))
        x = x + gated @ mlp.down_proj.weight.T
    logit = rms(body.norm, x)[-1] @ model.lm_head.weight[target]
    tokens, *others = torch.autograd.grad(logit, [embedded, *leaves])
    scores = (embedded * tokens).sum(-1)
    for leaf, gradient in zip(leaves, others, strict=True):
        relevance = (leaf * gradient).sum(-1)
        scores = scores + (relevance.abs() if absolute else relevance)
    return scores.detach()


@pytest.mark.parametrize("sign", ["auto", "absolute", "signed"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_llama_by_hand(sign: str, backend: Any) -> None:
    model = tiny(architecture="llama", backend=backend)
    found = axioms.attribute(model, given(IDS), target=TARGET, method="pa_lrp", sign=sign).scores
    for example, target in enumerate(TARGET.tolist()):
        with KeepFloat64():
            wanted = llama_by_hand(model, IDS[example], target, sign != "signed")
        torch.testing.assert_close(found[example], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "bert", "roberta"])
def test_learned_positions_get_the_relevance_of_the_sum(architecture: str) -> None:
    """E + P is the input of a twin whose tokens have the positions in their embeddings and whose positions are 0."""
    model, twin = tiny(architecture=architecture), tiny(architecture=architecture)
    ids = IDS[:1]
    names = {"gpt2": "transformer.wpe", "opt": "model.decoder.embed_positions"}
    table: Any = twin.get_submodule(names.get(architecture, f"{architecture}.embeddings.position_embeddings"))
    offset = {"opt": 2, "roberta": 1}.get(architecture, 0)  # OPT skips two rows, RoBERTa starts after the padding's
    embedding: Any = twin.get_input_embeddings()  # type: ignore[operator]
    head: Any = getattr(twin, "lm_head", None)
    with torch.no_grad():
        if head is not None:
            head.weight = torch.nn.Parameter(head.weight.clone())  # no longer tied to the embedding
        for place, token in enumerate(ids[0].tolist()):
            embedding.weight[token] += table.weight[place + offset]
        table.weight.zero_()
    same = axioms.attribute(model, given(ids), target=0, method="pa_lrp")
    wanted = axioms.attribute(twin, given(ids), target=0, method="attnlrp")
    torch.testing.assert_close(same.output, wanted.output, rtol=0, atol=1e-12)
    torch.testing.assert_close(same.scores, wanted.scores, rtol=0, atol=1e-12)


def test_absolute_learned_positions() -> None:
    """With `absolute`, a token gains |R(P)|: the sum of its own relevance and that of its position, unsigned."""
    model = tiny(architecture="gpt2")
    own = axioms.attribute(model, given(IDS), target=TARGET, method="attnlrp").scores
    signed = axioms.attribute(model, given(IDS), target=TARGET, method="pa_lrp").scores
    absolute = axioms.attribute(model, given(IDS), target=TARGET, method="pa_lrp", sign="absolute").scores
    torch.testing.assert_close(absolute, own + (signed - own).abs())
    assert (signed < own).any()


@pytest.mark.parametrize("architecture", ["llama", "mistral", "phi3", "qwen3", "gpt-neox", "gemma3", "modernbert"])
def test_each_layer_has_its_own_positions(architecture: str) -> None:
    """What tokens and positions get and what biases and softmax keep is the whole logit, whose sign `auto` drops."""
    model = tiny(architecture=architecture)
    found = axioms.attribute(model, given(IDS), target=0, method="pa_lrp", sign="signed", ledger=True)
    assert found.ledger is not None
    assert abs(found.ledger.unexplained) < 1e-9
    absolute = axioms.attribute(model, given(IDS), target=0, method="pa_lrp").scores
    assert (absolute - found.scores > -1e-12).all()
    assert not torch.allclose(absolute, found.scores)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_examples_of_a_batch_do_not_mix(architecture: str) -> None:
    """One table of positions serves the whole batch; its relevance must not."""
    model = tiny(architecture=architecture)
    together = axioms.attribute(model, given(IDS), target=TARGET, method="pa_lrp").scores
    apart = axioms.attribute(model, given(IDS), target=TARGET, method="pa_lrp", batch_size=1).scores
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-12)


def test_nothing_is_left_behind() -> None:
    model = tiny(architecture="llama")
    axioms.attribute(model, given(IDS), method="pa_lrp")
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("architecture", ["t5-encoder", "mamba"])
def test_models_without_such_positions_are_refused(architecture: str) -> None:
    with pytest.raises(InputError, match="has neither"):
        axioms.attribute(tiny(architecture=architecture), given(IDS), target=0, method="pa_lrp")


class Noting(torch.nn.Module):
    """Hands a list to a part of it, which writes to it, beside what it hands to the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.llama = tiny(architecture="llama")
        self.part = Part()

    def get_input_embeddings(self) -> Any:
        return self.llama.get_input_embeddings()  # type: ignore[operator]

    def forward(self, **given: Any) -> Tensor:
        logits: Tensor = self.llama(**given).logits[:, -1]
        written: list[Tensor] = []
        named: dict[str, Tensor] = {}
        self.part(logits, written, named=named)
        return written[0] + named["again"]


class Part(torch.nn.Module):
    """Returns nothing: it writes to what it is handed."""

    def forward(self, x: Tensor, written: list[Tensor], *, named: dict[str, Tensor]) -> None:
        written.append(x)
        named["again"] = x


def test_a_module_may_write_to_a_list_that_it_is_handed() -> None:
    """Only what holds positions is handed over as a copy."""
    noting = Noting()
    found = axioms.attribute(noting, given(IDS), target=TARGET, method="pa_lrp").scores
    wanted = axioms.attribute(noting.llama, given(IDS), target=TARGET, method="pa_lrp").scores
    torch.testing.assert_close(found, 2 * wanted, rtol=0, atol=1e-12)
