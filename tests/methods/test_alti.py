"""ALTI-Logit against the authors' formulas, written out for GPT-2 and Llama with the modules' own weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import axioms
from axioms.core.dtypes import KeepFloat64
from axioms.core.errors import InputError
from axioms.methods import alti
from axioms.methods.alti import logit_shares
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.subjects.models.tiny import tiny

IDS = torch.tensor([[5, 7, 11, 13, 9], [8, 30, 21, 4, 17]])
TARGET = torch.tensor([3, 25])
DECODERS = ["gpt2", "opt", "llama", "mistral", "phi3", "qwen2", "qwen3", "qwen3-moe"]


def given(ids: Tensor) -> dict[str, Tensor]:
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


class Block(NamedTuple):
    """What the formulas need of one layer, with one attention matrix and one W_V, W_O per head."""

    attention: Tensor
    values: list[Tensor]
    value_biases: list[Tensor]
    outputs: list[Tensor]
    output_bias: Tensor
    norm: Any
    mlp: Tensor


class Norm(NamedTuple):
    weight: Tensor
    bias: Tensor
    eps: float
    centered: bool

    def linear(self, v: Tensor, x: Tensor) -> Tensor:
        """L(v; x): the norm of x applied to v, without the bias (contributions.py:127-169)."""
        if self.centered:
            return (
                (v - v.mean(-1, keepdim=True))
                * self.weight
                / (x.var(-1, unbiased=False, keepdim=True) + self.eps).sqrt()
            )
        return v * self.weight / ((x * x).mean(-1, keepdim=True) + self.eps).sqrt()

    def __call__(self, x: Tensor) -> Tensor:
        return self.linear(x, x) + self.bias


def layer_norm(module: Any) -> Norm:
    return Norm(module.weight, module.bias, module.eps, True)


def rms_norm(module: Any) -> Norm:
    return Norm(module.weight, torch.zeros_like(module.weight), module.variance_epsilon, False)


def causal_softmax(q: Tensor, k: Tensor) -> Tensor:
    logits = q @ k.T / q.shape[-1] ** 0.5
    return torch.softmax(logits.masked_fill(torch.ones_like(logits).triu(1).bool(), -torch.inf), dim=-1)


def gpt2_block(block: Any, x: Tensor) -> Block:
    norm, heads = layer_norm(block.ln_1), block.attn.num_heads
    q, k, _ = (norm(x) @ block.attn.c_attn.weight + block.attn.c_attn.bias).chunk(3, dim=-1)
    width = q.shape[-1] // heads
    value = block.attn.c_attn.weight.chunk(3, dim=1)[2].split(width, dim=1)
    bias = block.attn.c_attn.bias.chunk(3)[2].split(width)
    output = block.attn.c_proj.weight.split(width, dim=0)
    pairs = zip(q.split(width, -1), k.split(width, -1), strict=True)
    attention = torch.stack([causal_softmax(a, b) for a, b in pairs])
    return Block(attention, list(value), list(bias), list(output), block.attn.c_proj.bias, norm, x)


def llama_block(block: Any, x: Tensor, rotary: tuple[Tensor, Tensor]) -> Block:
    norm, width = rms_norm(block.input_layernorm), block.self_attn.head_dim
    cos, sin = rotary

    def rotated(v: Tensor) -> Tensor:
        half = v.shape[-1] // 2
        return v * cos + torch.cat([-v[:, half:], v[:, :half]], dim=-1) * sin

    own = block.self_attn
    q, k = (norm(x) @ own.q_proj.weight.T).split(width, -1), (norm(x) @ own.k_proj.weight.T).split(width, -1)
    groups = len(q) // len(k)
    attention = torch.stack([causal_softmax(rotated(each), rotated(k[h // groups])) for h, each in enumerate(q)])
    per_group = own.v_proj.weight.T.split(width, dim=1)
    values = [per_group[h // groups] for h in range(len(q))]
    outputs = list(own.o_proj.weight.T.split(width, dim=0))
    zero = torch.zeros(x.shape[-1], dtype=x.dtype)
    return Block(attention, values, [torch.zeros(width, dtype=x.dtype)] * len(q), outputs, zero, norm, x)


def alti_by_hand(blocks: Any, final: Norm, unembed: Tensor, x: Tensor) -> dict[str, Tensor]:
    """One example. `blocks` gives, for a state x, the Block that reads it and the MLP to apply afterwards."""
    length = len(x)
    mixing: list[Tensor] = []
    initial, parts, mlps, biases = x[-1], [], [], []
    for read, mlp in blocks:
        block = read(x)
        affine = torch.zeros(length, length, x.shape[-1], dtype=x.dtype)
        for h in range(len(block.values)):
            theta = (block.norm.bias @ block.values[h] + block.value_biases[h]) @ block.outputs[h]
            for s in range(length):
                linear = block.norm.linear(x[s], x[s]) @ block.values[h] @ block.outputs[h]
                for t in range(length):
                    affine[t, s] += block.attention[h, t, s] * (linear + theta)
        y = x + affine.sum(1) + block.output_bias
        contributions = torch.zeros(length, length, dtype=x.dtype)
        for t in range(length):
            for s in range(length):
                transformed = affine[t, s] + (x[t] if s == t else 0)
                distance = (y[t] - transformed).abs().sum()
                contributions[t, s] = torch.clamp(y[t].abs().sum() - distance, min=0)
            contributions[t] /= contributions[t].sum()
        mixing.append(contributions if not mixing else contributions @ mixing[-1])
        parts.append(affine[-1])
        biases.append(block.output_bias)
        mlps.append(mlp(y)[-1])
        x = y + mlp(y)
    logit = {"output": unembed @ final(x)[-1], "head_bias": unembed @ final.bias}
    for name, vectors in {"initial": [initial], "mlp": mlps, "attention_bias": biases}.items():
        logit[name] = sum((unembed @ final.linear(each, x[-1]) for each in vectors), torch.zeros((), dtype=x.dtype))
    layers = [torch.stack([unembed @ final.linear(each, x[-1]) for each in part]) for part in parts]
    logit["tokens"] = layers[0] + sum(g @ m for g, m in zip(layers[1:], mixing, strict=False))
    return logit


def gpt2_by_hand(model: Any, ids: Tensor, target: int) -> dict[str, Tensor]:
    body = model.transformer
    blocks = [
        (lambda x, block=block: gpt2_block(block, x), lambda y, block=block: block.mlp(layer_norm(block.ln_2)(y)))
        for block in body.h
    ]
    x = body.wte.weight[ids] + body.wpe.weight[: len(ids)]
    return alti_by_hand(blocks, layer_norm(body.ln_f), model.lm_head.weight[target], x)


def llama_by_hand(model: Any, ids: Tensor, target: int) -> dict[str, Tensor]:
    body = model.model
    x = body.embed_tokens.weight[ids]
    cos, sin = body.rotary_emb(x.unsqueeze(0), torch.arange(len(ids)).unsqueeze(0))
    blocks = [
        (
            lambda x, block=block: llama_block(block, x, (cos[0], sin[0])),
            lambda y, block=block: block.mlp(rms_norm(block.post_attention_layernorm)(y)),
        )
        for block in body.layers
    ]
    return alti_by_hand(blocks, rms_norm(body.norm), model.lm_head.weight[target], x)


@pytest.mark.parametrize(("architecture", "by_hand"), [("gpt2", gpt2_by_hand), ("llama", llama_by_hand)])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_every_term_is_the_authors(architecture: str, by_hand: Any, backend: Any) -> None:
    model = tiny(architecture=architecture, backend=backend)
    shares = shares_of(model, given(IDS))
    for example, target in enumerate(TARGET.tolist()):
        with torch.no_grad(), KeepFloat64():
            wanted = by_hand(model, IDS[example], target)
        torch.testing.assert_close(shares.tokens[example], wanted.pop("tokens"), rtol=0, atol=1e-9)
        torch.testing.assert_close(shares.initial[example, :-1], torch.zeros(4, dtype=torch.float64))
        assert shares.initial[example, -1].item() == pytest.approx(wanted.pop("initial").item(), abs=1e-9)
        for name, value in wanted.items():
            assert getattr(shares, name)[example].item() == pytest.approx(value.item(), abs=1e-9), name


def shares_of(model: nn.Module, inputs: dict[str, Tensor]) -> alti.Shares:
    wrapped = Model(model)
    read = read_inputs(model, inputs)
    with wrapped.at_rest(), torch.no_grad():
        target = choose(TARGET, wrapped(read))
    with wrapped.at_rest():
        return logit_shares(wrapped, read, target)


@pytest.mark.parametrize("architecture", DECODERS)
def test_the_logit_is_the_sum_of_its_shares(architecture: str) -> None:
    """The final norm's bias is computed from its weights here, so that it cannot take up what is missing."""
    model = tiny(architecture=architecture)
    shares = shares_of(model, given(IDS))
    with torch.no_grad(), KeepFloat64():
        logits = model(**given(IDS)).logits[torch.arange(2), -1, TARGET]
    final: Any = {"gpt2": "transformer.ln_f", "opt": "model.decoder.final_layer_norm"}.get(architecture)
    unembed: Any = model.get_submodule("lm_head").weight
    beta = torch.zeros(2, dtype=torch.float64) if final is None else unembed[TARGET] @ model.get_submodule(final).bias
    total = shares.tokens.sum(1) + shares.initial.sum(1) + shares.mlp + shares.attention_bias + beta
    torch.testing.assert_close(total, logits, rtol=0, atol=1e-9)
    torch.testing.assert_close(shares.head_bias, beta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("architecture", ["gpt2", "opt", "llama"])
def test_a_difference_of_logits_is_the_sum_of_its_shares(architecture: str) -> None:
    """The agreement benchmark explains logit_p - logit_o: token, MLP and bias contributions sum to it."""
    model, other = tiny(architecture=architecture), torch.tensor([8, 1])
    wrapped, read = Model(model), read_inputs(model, given(IDS))
    with wrapped.at_rest(), torch.no_grad():
        target = choose({"logit_difference": (TARGET, other)}, wrapped(read))
    with wrapped.at_rest():
        shares = logit_shares(wrapped, read, target)
    with torch.no_grad(), KeepFloat64():
        logits = model(**given(IDS)).logits[:, -1]
    wanted = logits[torch.arange(2), TARGET] - logits[torch.arange(2), other]
    final: Any = {"gpt2": "transformer.ln_f", "opt": "model.decoder.final_layer_norm"}.get(architecture)
    unembed: Any = model.get_submodule("lm_head").weight
    beta = torch.zeros(2, dtype=torch.float64)
    if final is not None:
        beta = (unembed[TARGET] - unembed[other]) @ model.get_submodule(final).bias
    total = shares.tokens.sum(1) + shares.initial.sum(1) + shares.mlp + shares.attention_bias + beta
    torch.testing.assert_close(total, wanted, rtol=0, atol=1e-9)


def test_the_initial_share_goes_to_the_token_that_is_read() -> None:
    model = tiny(architecture="llama")
    shares = shares_of(model, given(IDS))
    without = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit")
    last = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit", initial="last_token")
    torch.testing.assert_close(without.scores, shares.tokens)
    torch.testing.assert_close(last.scores[:, -1] - without.scores[:, -1], shares.initial[:, -1])
    torch.testing.assert_close(last.scores[:, :-1], without.scores[:, :-1])
    for found in (without, last):
        torch.testing.assert_close(found.scores.sum(1), found.total, rtol=0, atol=1e-9)


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(architecture: str, side: str) -> None:
    model = tiny(architecture=architecture)
    alone = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit").scores
    pad = torch.zeros(2, 3, dtype=torch.long)
    order = (lambda a, b: torch.cat([a, b], 1)) if side == "left" else (lambda a, b: torch.cat([b, a], 1))
    places = order(pad, torch.arange(5).expand(2, 5))
    padded = {"input_ids": order(pad, IDS), "attention_mask": order(pad, torch.ones_like(IDS)), "position_ids": places}
    found = axioms.attribute(model, padded, target=TARGET, method="alti_logit").scores
    torch.testing.assert_close(found, order(torch.zeros(2, 3, dtype=torch.float64), alone), rtol=0, atol=1e-12)


def test_it_keeps_no_ledger() -> None:
    """Its gradient at the final norm goes through the engine, and is no propagation of relevance."""
    with pytest.raises(InputError, match="no ledger"):
        axioms.attribute(tiny(architecture="gpt2"), given(IDS), method="alti_logit", ledger=True)


def test_rows_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny(architecture="gpt2")
    whole = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit").scores
    monkeypatch.setattr(alti, "ENTRIES", 1)
    torch.testing.assert_close(axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit").scores, whole)


def test_no_more_is_held_at_once_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """T has batch x length x length x width numbers, of which so many rows are made at a time as fit."""
    batch, length, width = 2, 6, 16
    draw = torch.Generator().manual_seed(0)
    stream = torch.randn(batch, length, width, generator=draw)
    weights, vectors = torch.rand(batch, 1, length, length, generator=draw), torch.rand(batch, 1, length, width)
    layer = alti._Layer(stream, 2 * stream, weights, vectors, torch.zeros(width))
    sizes: list[int] = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            sizes.append(result.numel() if isinstance(result, Tensor) else 0)
            return result

    whole = alti._contributions(layer)
    for rows in (1, 2, 5):
        monkeypatch.setattr(alti, "ENTRIES", rows * batch * length * width)
        sizes.clear()
        with Sizes():
            found = alti._contributions(layer)
        assert max(sizes) == rows * batch * length * width
        torch.testing.assert_close(found, whole)


def test_a_stream_of_zeros_is_a_sum_of_nothing() -> None:
    """Of size zero, where no gap is allowed and there is none."""
    model: Any = tiny(architecture="llama", biases=False)
    model.model.embed_tokens.weight.data.zero_()
    found = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit")
    assert torch.equal(found.scores, torch.zeros_like(found.scores))
    assert torch.equal(found.output, torch.zeros_like(found.output))


@pytest.mark.parametrize(
    ("architecture", "reason"),
    [
        ("bert", "post-norm or parallel"),
        ("gpt-neox", "post-norm or parallel"),
        ("modernbert", "does not fit"),
        ("gemma3", "in the order NANNNNANNNN"),
        ("mamba", "in the order NNN"),
    ],
)
def test_models_it_does_not_fit_are_refused(architecture: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"pre-norm decoders.*{reason}"):
        axioms.attribute(tiny(architecture=architecture), given(IDS), target=0, method="alti_logit")


@pytest.mark.parametrize("architecture", ["bert", "gpt-neox"])
def test_they_are_refused_for_texts_with_padding_too(architecture: str) -> None:
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    with pytest.raises(InputError, match="post-norm or parallel"):
        axioms.attribute(
            tiny(architecture=architecture), {"input_ids": IDS, "attention_mask": mask}, target=0, method="alti_logit"
        )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_contributions_have_the_precision_of_the_stream(dtype: torch.dtype) -> None:
    """They are multiplied with scores that have it."""
    stream, weights = torch.ones(1, 3, 4, dtype=dtype), torch.full((1, 2, 3, 3), 0.5, dtype=dtype).tril()
    layer = alti._Layer(stream, 2 * stream, weights, torch.ones(1, 2, 3, 4, dtype=dtype), torch.zeros(4, dtype=dtype))
    assert alti._contributions(layer).dtype == dtype


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_contributions_do_not_depend_on_the_size_of_the_stream(scale: float) -> None:
    """Of each output of a block, the inputs that it is near to; a row of which nothing is near stays with itself."""
    generator = torch.Generator().manual_seed(0)
    before = torch.randn(1, 3, 4, generator=generator, dtype=torch.float64)
    weights = torch.rand(1, 2, 3, 3, generator=generator, dtype=torch.float64).tril()
    vectors = torch.randn(1, 2, 3, 4, generator=generator, dtype=torch.float64)
    after = before + torch.einsum("bhts,bhsd->btd", weights, vectors)
    after[0, 1] = -50 * after[0, 1]
    layer = alti._Layer(scale * before, scale * after, weights, scale * vectors, torch.zeros(4, dtype=torch.float64))
    found = alti._contributions(layer)[0]
    for token in range(3):
        near = []
        for key in range(3):
            term = (weights[0, :, token, key, None] * vectors[0, :, key]).sum(0) + float(key == token) * before[
                0, token
            ]
            whole = after[0, token]
            near.append(max(0.0, float(whole.abs().sum() - (whole - term).abs().sum())))
        wanted = [one / sum(near) for one in near] if sum(near) else [float(key == token) for key in range(3)]
        torch.testing.assert_close(found[token], torch.tensor(wanted, dtype=torch.float64))


def test_shares_are_numbers() -> None:
    module = tiny(architecture="gpt2")
    model, inputs = Model(module), read_inputs(module, given(IDS))
    with torch.enable_grad(), model.at_rest():
        shares = logit_shares(model, inputs, Target(TARGET))
    assert not any(part.requires_grad for part in vars(shares).values())
    assert not inputs.features.requires_grad
    parts = shares.tokens.sum(1) + shares.initial.sum(1) + shares.mlp + shares.attention_bias + shares.head_bias
    torch.testing.assert_close(shares.output, parts)


def test_a_leaf_takes_the_place_of_what_a_module_is_given_and_leaves_that_as_it_was() -> None:
    from axioms.methods.alti import _leaf_before

    norm, past = torch.nn.LayerNorm(3).requires_grad_(False), torch.ones(2, 3, requires_grad=True)
    for given in (torch.arange(6.0).reshape(2, 3), past * 2):
        varied = given.requires_grad
        with _leaf_before(norm, given) as leaves:
            output = norm(given)
        assert given.requires_grad == varied
        assert leaves[0].is_leaf
        assert torch.equal(leaves[0], given)
        assert torch.autograd.grad(output.sum(), leaves[0])[0].shape == given.shape
    assert not norm._forward_pre_hooks


@pytest.mark.parametrize("initial", ["omitted", "last_token"])
def test_scores_sum_to_their_total_whatever_the_biases(initial: str) -> None:
    model, generator = tiny(architecture="gpt2"), torch.Generator().manual_seed(0)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            weight.data = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
    found = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit", initial=initial)
    torch.testing.assert_close(found.scores.sum(1), found.total, rtol=0, atol=1e-9)
    assert not model.get_submodule("transformer.ln_f")._forward_pre_hooks, "it leaves no hook behind"


def test_one_example_has_the_scores_that_it_has_among_others() -> None:
    model = tiny(architecture="llama")
    both = axioms.attribute(model, given(IDS), target=TARGET, method="alti_logit").scores
    for row in range(2):
        alone = axioms.attribute(model, given(IDS[row : row + 1]), TARGET[row : row + 1], "alti_logit").scores
        torch.testing.assert_close(alone[0], both[row])


PRECISE = """claim: Precision changes the rounding only.
subject:
  pair: {model: {tiny: {architecture: ARCHITECTURE}}, rewrite: cast_up}
  data: {random-tokens: {n: 2, length: 5}}
run: {dtype: float32}
methods: [alti_logit]
checks: [{axiom: implementation_invariance, expect: {relative_gap.max: {le: 1e-3}}}]
"""


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_parts_in_a_higher_precision_change_only_the_rounding(
    architecture: str, write_spec: Callable[[str], Path]
) -> None:
    checks = expand_file(write_spec(PRECISE.replace("ARCHITECTURE", architecture))).checks
    runner = Runner()
    assert all(runner.run(check).judgement.passed for check in checks)
