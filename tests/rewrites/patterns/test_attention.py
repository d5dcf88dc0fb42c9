"""Attention blocks by the names of their maps: how many heads, how they lie, and what is no such block."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable
from axioms.model.inputs import Inputs, read_inputs
from axioms.rewrites.apply import apply_rewrite, checked_rewrite
from axioms.rewrites.patterns.attention import attentions, heads_have_positions
from axioms.subjects.data import random_images, random_tokens
from axioms.subjects.models.tiny import tiny

KINDS = {
    "bert": "separate",
    "gpt2": "fused",
    "llama": "separate",
    "gpt-neox": "interleaved",
    "phi3": "fused",
    "distilbert": "separate",
    "opt": "separate",
    "vit": "separate",
}


def case(architecture: str) -> tuple[Any, Inputs]:
    module = tiny(architecture=architecture)
    data = random_images(n=2) if architecture == "vit" else random_tokens(n=2, length=5)
    return module, read_inputs(module, data.inputs)


@pytest.mark.parametrize("architecture", KINDS)
def test_heads_and_how_they_lie(architecture: str) -> None:
    module, _ = case(architecture)
    config = module.config
    heads, layers = config.num_attention_heads, config.num_hidden_layers
    shared = config.num_key_value_heads if architecture in ("llama", "phi3") else heads
    blocks = attentions(module)
    assert len(blocks) == layers
    for block in blocks:
        width = config.hidden_size // heads
        assert (block.heads, block.shared, block.group, block.width) == (heads, shared, heads // shared, width)
        assert block.module is dict(module.named_modules())[block.path]
        assert block.is_separate == (KINDS[architecture] == "separate")
        assert block.is_fused == (KINDS[architecture] != "separate")
        assert not block.is_normalized
        assert block.channels([1, 0]).tolist() == [*range(width, 2 * width), *range(width)]
        numbers = torch.arange(shared * width)
        spread = block.for_all_heads(numbers).reshape(heads, width)
        for head in range(heads):
            assert spread[head].tolist() == numbers[head // (heads // shared) * width :][:width].tolist()
        rows = torch.cat([part.rows for part in block.qkv]).tolist()
        if KINDS[architecture] == "fused":
            assert rows == list(range(len(rows)))
        elif KINDS[architecture] == "interleaved":
            assert sorted(rows) == list(range(3 * heads * width))
            assert block.key.rows[:width].tolist() == list(range(width, 2 * width))
    assert not heads_have_positions(module)


ATTENTION = ["permute_heads", "rescale_qk", "rescale_vo", "fold_vo"]


@pytest.mark.parametrize("name", [*ATTENTION, "fuse_qkv or split_qkv"])
@pytest.mark.parametrize("architecture", KINDS)
def test_attention_is_rewritten_and_the_function_kept(architecture: str, name: str) -> None:
    module, inputs = case(architecture)
    if " or " in name:
        name, other = ("fuse_qkv", "split_qkv") if KINDS[architecture] == "separate" else ("split_qkv", "fuse_qkv")
        with pytest.raises(NotApplicable, match="already; see"):
            apply_rewrite(other, {}, module, inputs)
    rewritten, gap = checked_rewrite(name, {}, module, inputs, 2)
    assert gap < 1e-9
    before, after = attentions(module)[0].query, None
    if name in ATTENTION:
        after = attentions(rewritten.module)[0]
        changed = after.value if name in ("rescale_vo", "fold_vo") else after.query
        plain = attentions(module)[0].value if name in ("rescale_vo", "fold_vo") else before
        assert not torch.allclose(changed.weight, plain.weight)


def test_heads_move_with_those_that_they_share() -> None:
    """Four query heads, two to a key: the shared heads change places, and so do the two of each."""
    module, inputs = case("llama")
    block = attentions(module)[0]
    assert (block.heads, block.shared) != (1, 1)
    permuted = attentions(apply_rewrite("permute_heads", {}, module, inputs).module)[0]
    width, group = block.width, block.group
    order = [group * shared + member for shared in [*range(1, block.shared), 0] for member in [*range(1, group), 0]]
    for new, old in enumerate(order):
        rows = slice(new * width, (new + 1) * width), slice(old * width, (old + 1) * width)
        assert torch.equal(permuted.query.weight[rows[0]], block.query.weight[rows[1]])
        assert torch.equal(permuted.output.weight[:, rows[0]], block.output.weight[:, rows[1]])


class Named(nn.Module):
    """An attention block that other numbers make something else."""

    def __init__(
        self, q: int = 4, k: int = 4, v: int = 4, heads: Any = 2, bias: tuple[bool, ...] = (True,) * 3
    ) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(4, size, has) for size, has in zip((q, k, v), bias, strict=True)
        )
        self.o_proj = nn.Linear(4, 6)
        self.num_heads = heads

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        mixed = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.o_proj(mixed.transpose(1, 2).flatten(2)).sum(1)


@pytest.mark.parametrize("wrong", [{"q": 6}, {"k": 2}, {"k": 3, "v": 3}, {"heads": 3}])
def test_sizes_that_do_not_fit_are_no_attention(wrong: dict[str, Any]) -> None:
    assert len(attentions(Named())) == 1
    with pytest.raises(NotApplicable, match="no attention block"):
        attentions(Named(**wrong))


def test_a_map_that_is_no_layer_makes_no_attention() -> None:
    model = Named()
    model.k_proj = nn.Identity()  # type: ignore[assignment]
    with pytest.raises(NotApplicable):
        attentions(model)
    assert attentions(Named(heads=None))[0].heads == 1


@pytest.mark.parametrize("bias", [(True, True, True), (True, False, True), (False, False, False)])
def test_biases_are_fused_where_there_are_any(bias: tuple[bool, ...]) -> None:
    model = Named(bias=bias).double()
    inputs = Inputs(torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    for name in ("fuse_qkv", "rescale_qk", "rescale_vo", "fold_vo", "permute_heads"):
        _, gap = checked_rewrite(name, {}, model, inputs, 2)
        assert gap < 1e-9


def test_one_head_has_no_other_order_but_beside_others() -> None:
    x = Inputs(torch.randn(2, 3, 4, dtype=torch.float64))
    with pytest.raises(NotApplicable, match="one head only"):
        apply_rewrite("permute_heads", {}, Named(heads=1).double(), x)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = Named(heads=1), Named(heads=2)

        def forward(self, x: Tensor) -> Tensor:
            return self.one(x) + self.two(x)

    _, gap = checked_rewrite("permute_heads", {}, Both().double(), x, 2)
    assert gap < 1e-9


def test_heads_with_positions_of_their_own_stay() -> None:
    module, inputs = case("bert")
    module.relative_attention_bias = nn.Embedding(2, 2)
    assert heads_have_positions(module)
    with pytest.raises(NotApplicable, match="position biases of their own"):
        apply_rewrite("permute_heads", {}, module, inputs)


def test_queries_that_are_normalized_are_not_scaled() -> None:
    model = Named().double()
    model.q_norm = nn.LayerNorm(2)
    with pytest.raises(NotApplicable, match="pass a norm"):
        apply_rewrite("rescale_qk", {}, model, Inputs(torch.ones(1, 2, 4, dtype=torch.float64)))


def test_a_rewrite_that_changes_one_example_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from axioms.core.entries import Rewrite
    from axioms.core.errors import RewriteError
    from axioms.core.registry import REWRITES

    class Off(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: Tensor) -> Tensor:
            return self.module(x) * torch.where(x[:, 0, 0] > 0, 1.0, 1.001)[:, None]

    monkeypatch.setitem(REWRITES._entries, "off", Rewrite("off", Off))
    x = torch.ones(2, 3, 4, dtype=torch.float64)
    assert checked_rewrite("off", {}, Named().double(), Inputs(x), 2)[1] == 0
    x[1] *= -1
    with pytest.raises(RewriteError, match=r"the outputs differ by 1.0e-03 of the largest"):
        checked_rewrite("off", {}, Named().double(), Inputs(x), 2)


def test_maps_that_are_not_whole_layers_are_not_separate() -> None:
    from dataclasses import replace

    from axioms.rewrites.patterns.layers import Map

    block = attentions(Named())[0]
    assert block.is_separate
    assert not block.is_fused
    for name in ("query", "key", "value"):
        layer = nn.Linear(4, 6)
        for rows in (torch.arange(4), torch.arange(6).flip(0)):
            other: Any = {name: Map(layer, rows)}
            assert not replace(block, **other).is_separate
    assert not replace(block, key=block.query).is_separate
    assert replace(block, key=block.query, value=block.query).is_fused
    assert not replace(block, key=block.query).is_fused


def test_a_model_that_is_no_number_somewhere_is_not_rewritten() -> None:
    from axioms.core.errors import RewriteError

    x = torch.ones(2, 3, 4, dtype=torch.float64)
    x[1] = float("nan")
    with pytest.raises(RewriteError, match="was not tried: Named itself gives NaN or infinity"):
        checked_rewrite("permute_heads", {}, Named().double(), Inputs(x), 2)


def test_norms_are_written_out_each_by_its_own_rewrite() -> None:
    x = Inputs(torch.randn(2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    centered, plain = (nn.Sequential(norm, nn.Linear(4, 2)).double() for norm in (nn.LayerNorm(4), nn.RMSNorm(4)))
    for name, fits, other in (
        ("written_layer_norm", centered, plain),
        ("divided_rms_norm", plain, centered),
    ):
        rewritten, gap = checked_rewrite(name, {}, fits, x, 2)
        assert gap < 1e-9
        assert type(next(rewritten.module.children())).__name__ == "WrittenNorm"
        with pytest.raises(NotApplicable):
            apply_rewrite(name, {}, other, x)
