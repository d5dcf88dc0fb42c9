"""Every rewrite keeps the function wherever it applies, leaves the original alone, and really changes something."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
import torch
from torch import nn

from axioms.core.entries import Rewrite
from axioms.core.errors import NotApplicable, RewriteError
from axioms.core.registry import REWRITES, rewrite
from axioms.model.inputs import Inputs, read_inputs
from axioms.rewrites.apply import apply_rewrite, checked_rewrite
from axioms.subjects.data import random_images, random_points, random_tokens
from axioms.subjects.models.small import linear_attention, relu_net
from axioms.subjects.models.tiny import tiny

TOKENS = ["bert", "gpt2", "llama", "opt", "gpt-neox", "phi3", "gemma3", "t5-encoder", "distilbert"]
SHAPES = [*TOKENS, "gpt2-sdpa", "vit", "relu-net", "linear-attention", "gated-silu"]
AT_LEAST = {"bert": 10, "gpt2": 10, "llama": 10}


@cache
def case(shape: str) -> tuple[nn.Module, Inputs]:
    if shape == "gpt2-sdpa":
        module: nn.Module = tiny(architecture="gpt2", backend="sdpa")
        return module, read_inputs(module, random_tokens(n=3, length=6).inputs)
    if shape == "relu-net":
        return relu_net(), read_inputs(relu_net(), random_points(n=3, features=16).inputs)
    if shape == "linear-attention":
        module = linear_attention(length=8, width=4, classes=5).double()
        return module, read_inputs(module, random_points(n=3, features=8).inputs)
    if shape == "gated-silu":
        module = Functional().double()
        return module, read_inputs(module, random_points(n=3, features=4).inputs)
    module = tiny(architecture=shape)
    data = random_images(n=2) if shape == "vit" else random_tokens(n=3, length=6)
    return module, read_inputs(module, data.inputs)


class Functional(nn.Module):
    """Calls functions where others call modules."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        mixed = nn.functional.silu(hidden) + nn.functional.gelu(hidden) + torch.relu(hidden)
        return self.second(mixed * torch.softmax(hidden, dim=-1))


@cache
def applied(shape: str) -> dict[str, float]:
    """The forward gap of every rewrite that applies."""
    module, inputs = case(shape)
    gaps = {}
    for name in REWRITES:
        try:
            gaps[name] = checked_rewrite(name, {}, module, inputs, 8)[1]
        except NotApplicable:
            continue
    return gaps


@pytest.mark.parametrize("shape", SHAPES)
def test_the_function_is_kept_and_the_original_untouched(shape: str) -> None:
    module, _ = case(shape)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    gaps = applied(shape)
    assert max(gaps.values()) <= 1e-9
    assert len(gaps) >= AT_LEAST.get(shape, 4)
    after = module.state_dict()
    assert list(before) == list(after)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_each_applies_somewhere() -> None:
    missing = set(REWRITES) - {name for shape in SHAPES for name in applied(shape)}
    assert not missing


def described(module: nn.Module) -> Iterator[str]:
    """What the code and the numbers of a model are."""
    yield str(getattr(getattr(module, "config", None), "_attn_implementation", None))
    yield str("forward" in vars(module))
    for name, part in module.named_modules():
        yield f"{name} {type(part).__name__}"
    for name, value in module.state_dict().items():
        yield f"{name} {value.double().flatten().tolist()}"


@pytest.mark.parametrize("shape", ["bert", "gpt2-sdpa", "llama", "relu-net", "linear-attention"])
def test_none_does_nothing(shape: str) -> None:
    module, inputs = case(shape)
    plain = list(described(module))
    for name in applied(shape):
        if REWRITES.get(name).of in ("model", "units"):
            rewritten = apply_rewrite(name, {}, module, inputs).module
            assert list(described(rewritten)) != plain, name
            assert all(a is not b for a in module.parameters() for b in rewritten.parameters()), name
        if REWRITES.get(name).of == "units":
            assert not torch.equal(apply_rewrite(name, {}, module, inputs).moved.inputs.features, inputs.features)
        if REWRITES.get(name).of == "inputs":
            moved = apply_rewrite(name, {}, module, inputs).moved
            assert moved.inputs.features.shape != inputs.features.shape or moved.order is not None


def weight_of(model: nn.Module, path: str) -> torch.Tensor:
    weight = model.get_submodule(path).weight
    assert isinstance(weight, torch.Tensor)
    return weight.data


def test_a_wrong_rewrite_is_caught() -> None:
    module, inputs = case("bert")

    def one_weight_off(model: nn.Module) -> nn.Module:
        """Wrong on purpose."""
        weight_of(model, "bert.encoder.layer.0.attention.self.value")[0, 0] += 1e-4
        return model

    REWRITES._entries["wrong"] = Rewrite("wrong", one_weight_off)
    try:
        with pytest.raises(RewriteError, match="'wrong' does not keep the function of BertForSequenceClassification"):
            checked_rewrite("wrong", {}, module, inputs, 8)
    finally:
        del REWRITES._entries["wrong"]


def test_a_name_that_is_taken_stays_taken() -> None:
    with pytest.raises(ValueError, match="already registered"):
        rewrite("permute_heads")(lambda model: model)


def test_heads_move_with_those_that_share_their_values() -> None:
    """By hand: with two query heads to a value head, head h of the output map reads value head h // 2."""
    module, inputs = case("llama")
    rewritten = apply_rewrite("permute_heads", {}, module, inputs).module
    path = "model.layers.0.self_attn"
    order = [3, 2, 1, 0]  # key head 1 with its query heads 2, 3 comes first, each pair swapped
    q_old, q_new = (weight_of(model, f"{path}.q_proj").reshape(4, 4, 16) for model in (module, rewritten))
    o_old, o_new = (weight_of(model, f"{path}.o_proj").reshape(16, 4, 4) for model in (module, rewritten))
    v_old, v_new = (weight_of(model, f"{path}.v_proj").reshape(2, 4, 16) for model in (module, rewritten))
    assert torch.equal(q_new, q_old[order])
    assert torch.equal(o_new, o_old[:, order])
    assert torch.equal(v_new, v_old[[1, 0]])


def test_rescaling_by_hand() -> None:
    module, inputs = case("gpt2")
    rewritten = apply_rewrite("rescale_qk", {"factor": 2.0}, module, inputs).module
    old, new = (weight_of(model, "transformer.h.0.attn.c_attn") for model in (module, rewritten))
    factors = torch.ones(48, dtype=torch.float64)
    factors[0:8], factors[8:16] = 2.0, 0.5  # queries of the two heads
    factors[16:24], factors[24:32] = 0.5, 2.0  # their keys
    torch.testing.assert_close(new, old * factors, rtol=0, atol=1e-15)


def test_batch_norm_folds_to_one_map() -> None:
    """Against torch's own fusion."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    module, inputs = case("relu-net")
    folded = apply_rewrite("fold_batch_norm", {}, module, inputs).module
    assert isinstance(module, nn.Sequential)
    assert isinstance(folded, nn.Sequential)
    convolution, norm, one = module[1], module[2], folded[1]
    assert isinstance(convolution, nn.Conv2d)
    assert isinstance(norm, nn.BatchNorm2d)
    wanted = fuse_conv_bn_eval(convolution, norm)
    assert wanted.bias is not None
    torch.testing.assert_close(one.weight.data, wanted.weight.data)
    torch.testing.assert_close(one.bias.data, wanted.bias.data)


def test_reordering_and_padding_come_back() -> None:
    module, inputs = case("bert")
    moved = apply_rewrite("reorder_batch", {}, module, inputs).moved
    assert moved.order is not None
    assert moved.order.tolist() == [2, 0, 1]
    assert torch.equal(moved.restore(moved.inputs.features), inputs.features)
    longer = apply_rewrite("pad_batch", {"by": 2}, module, inputs).moved
    assert torch.equal(longer.inputs.features[:, : longer.length], inputs.features)


class InTwoDtypes(nn.Module):
    """Computes in float32 but for its last map, as a model may whose head is more exact."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(4, 6), nn.Linear(6, 3).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = nn.functional.silu(self.first(x.to(self.first.weight.dtype)))
        return self.last(hidden.double())


def test_a_model_of_two_dtypes_is_compared_in_float64_throughout() -> None:
    """In float32 silu(x) and x sigmoid(x) differ by more than a rewrite may change."""
    module = InTwoDtypes()
    inputs = Inputs(torch.randn(3, 4, generator=torch.Generator().manual_seed(0)))
    _, gap = checked_rewrite("written_silu", {}, module, inputs, 8)
    assert gap < 1e-14
    assert [weight.dtype for weight in module.parameters()] == [torch.float32] * 2 + [torch.float64] * 2
