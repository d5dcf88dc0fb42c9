"""Attention that no name gives away is recognized from its calls, however it is written, and nothing else is."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import Context

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from axioms.core.errors import NotApplicable
from axioms.model.inputs import read_inputs
from axioms.rewrites.apply import apply_rewrite, checked_rewrite
from axioms.rewrites.patterns.attention import attentions
from axioms.rewrites.patterns.channels import Channels
from axioms.rewrites.patterns.observed import example_of, observed_blocks

HEADS, WIDTH, SIZE = 3, 4, 12
Parts = tuple[Tensor, Tensor, Tensor]


def in_heads(x: Tensor) -> Tensor:
    return x.unflatten(-1, (-1, WIDTH)).transpose(1, 2)


class Block(nn.Module):
    """An attention block with a residual, whose layers have names that say nothing."""

    def __init__(self, outputs: list[int], split: Callable[..., Parts], attend: Callable[..., Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.ModuleList(nn.Linear(SIZE, size) for size in outputs)
        self.last, self.read = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, 2)
        self.split, self.attend = split, attend

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(*(layer(x) for layer in self.first))
        return self.read((x + self.last(self.attend(q, k, v))).mean(1))


def fused(x: Tensor) -> Parts:
    q, k, v = x.view(*x.shape[:2], 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)
    return q, k, v


def chunked(x: Tensor) -> Parts:
    q, k, v = x.chunk(3, dim=-1)
    return in_heads(q), in_heads(k), in_heads(v)


def interleaved(x: Tensor) -> Parts:
    parts = x.unflatten(-1, (HEADS, 3, WIDTH)).transpose(1, 2)
    return parts[..., 0, :], parts[..., 1, :], parts[..., 2, :]


def separate(q: Tensor, k: Tensor, v: Tensor) -> Parts:
    return in_heads(q), in_heads(k), in_heads(v)


def two_in_one(q: Tensor, kv: Tensor) -> Parts:
    k, v = kv.split(SIZE, dim=-1)
    return in_heads(q), in_heads(k), in_heads(v)


def shared(q: Tensor, k: Tensor, v: Tensor) -> Parts:
    return in_heads(q), in_heads(k).repeat_interleave(HEADS, 1), in_heads(v).repeat_interleave(HEADS, 1)


def sdpa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def written(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(WIDTH)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return (scores.masked_fill(~seen, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(len(q), -1, SIZE)


def folded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (part.flatten(0, 1) for part in (q * WIDTH**-0.5, k, v))
    mixed = torch.bmm(F.dropout(F.softmax(torch.bmm(q, k.transpose(1, 2)), -1), 0.1, training=False), v)
    return mixed.view(-1, HEADS, *mixed.shape[1:]).permute(0, 2, 1, 3).reshape(-1, mixed.shape[1], SIZE)


def by_einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    weights = torch.einsum("bthd,bshd->bhts", q, k).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", weights, v).flatten(2)


def linear(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return ((q @ k.transpose(-2, -1)) @ v).transpose(1, 2).flatten(2)


def among_channels(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Channels attend to channels, over all tokens: what is weighed is no vector of a token."""
    q, k, v = (part.transpose(-2, -1) for part in (q, k, v))
    return ((q @ k.transpose(-2, -1)).softmax(-1) @ v).permute(0, 3, 1, 2).flatten(2)


def read_twice(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return sdpa(q, k, v) + q.transpose(1, 2).flatten(2)


def out_of_order(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v).permute(0, 2, 3, 1).flatten(2)


SPLITS: dict[str, tuple[list[int], Callable[..., Parts]]] = {
    "fused": ([3 * SIZE], fused),
    "chunked": ([3 * SIZE], chunked),
    "interleaved": ([3 * SIZE], interleaved),
    "separate": ([SIZE] * 3, separate),
    "two in one": ([SIZE, 2 * SIZE], two_in_one),
    "shared": ([SIZE, WIDTH, WIDTH], shared),
}
X = torch.randn(2, 5, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("attend", [sdpa, written, folded, by_einsum])
@pytest.mark.parametrize("split", SPLITS)
def test_however_it_is_written(split: str, attend: Callable[..., Tensor]) -> None:
    model = Block(*SPLITS[split], attend).double().eval()
    inputs = read_inputs(model, X)
    with example_of(inputs):
        (block,) = attentions(model)
    assert (block.heads, block.width, block.shared) == (HEADS, WIDTH, 1 if split == "shared" else HEADS)
    assert block.is_fused is (len(model.first) == 1)
    apply = ["permute_heads", "rescale_qk", "rescale_vo", "fold_vo"]
    apply += ["split_qkv"] if block.is_fused else ["fuse_qkv"] if block.is_separate else []
    for name in apply:
        rewritten, gap = checked_rewrite(name, {}, model, inputs, 2)
        assert gap < 1e-12
        before, after = (torch.cat([x.flatten() for x in m.state_dict().values()]) for m in (model, rewritten.module))
        assert name in ("split_qkv", "fuse_qkv") or not torch.equal(before, after), "something was rewritten"
    for name in {"split_qkv", "fuse_qkv"} - set(apply):
        with pytest.raises(NotApplicable):
            apply_rewrite(name, {}, model, inputs)


@pytest.mark.parametrize("attend", [linear, among_channels, read_twice, out_of_order])
def test_what_is_something_else_is_left_alone(attend: Callable[..., Tensor]) -> None:
    model = Block(*SPLITS["separate"], attend).double().eval()
    with pytest.raises(NotApplicable, match="no attention block"):
        apply_rewrite("permute_heads", {}, model, read_inputs(model, X))


def test_a_block_is_found_beside_attention_among_channels() -> None:
    """What is no block does not hide those that are."""
    other = Block(*SPLITS["separate"], among_channels).double().eval()
    other.read = nn.Linear(SIZE, SIZE).double()
    block = Block(*SPLITS["separate"], sdpa).double().eval()

    class After(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.other, self.block = other, block

        def forward(self, x: Tensor) -> Tensor:
            return self.block(x + self.other(x).unsqueeze(1))

    model = After()
    with example_of(read_inputs(model, X)):
        (found,) = attentions(model)
    assert found.path == "block.last"


def test_layers_that_two_blocks_share_are_left_alone() -> None:
    block = Block(*SPLITS["fused"], sdpa).double().eval()
    block.read = nn.Linear(SIZE, SIZE).double()

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = block

        def forward(self, x: Tensor) -> Tensor:
            return self.block(x + self.block(x).unsqueeze(1))

    model = Twice()
    with pytest.raises(NotApplicable, match="no attention block"):
        apply_rewrite("permute_heads", {}, model, read_inputs(model, X))


def test_without_an_example_names_decide() -> None:
    with pytest.raises(NotApplicable, match="no attention block"):
        attentions(Block(*SPLITS["fused"], sdpa))


def scaled_by(factor: Tensor | float) -> Callable[..., Tensor]:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return sdpa(q * factor, k, v)

    return attend


def with_mask(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A mask as the fourth argument, which no layer computes."""
    mask = torch.zeros(q.shape[-2], k.shape[-2], dtype=q.dtype)
    return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)


def with_computed_mask(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A mask that is made of queries: they are read elsewhere too."""
    mask = q.mean(-1, keepdim=True).expand(*q.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)


def with_moved_mask(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A mask that is nothing but some of the queries."""
    return (
        F.scaled_dot_product_attention(q, k, v, q[..., :1].expand(*q.shape[:-1], k.shape[-2]))
        .transpose(1, 2)
        .flatten(2)
    )


def with_largest(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Numbers beside places: the largest keys say how the queries are scaled."""
    return sdpa(q * k.max(dim=-1)[0].mean(), k, v)


@pytest.mark.parametrize(
    "attend", [scaled_by(2.0), scaled_by(torch.tensor(2.0)), scaled_by(torch.tensor([2.0])), with_mask]
)
def test_a_scale_and_a_mask_keep_an_attention_one(attend: Callable[..., Tensor]) -> None:
    model = Block(*SPLITS["separate"], attend).double().eval()
    for name in ("permute_heads", "rescale_qk", "rescale_vo", "fold_vo", "fuse_qkv"):
        _, gap = checked_rewrite(name, {}, model, read_inputs(model, X), 2)
        assert gap < 1e-12


@pytest.mark.parametrize(
    "attend", [scaled_by(torch.arange(1.0, WIDTH + 1)), with_computed_mask, with_moved_mask, with_largest]
)
def test_what_is_read_or_scaled_channel_by_channel_is_left_alone(attend: Callable[..., Tensor]) -> None:
    model = Block(*SPLITS["separate"], attend).double().eval()
    with pytest.raises(NotApplicable, match="no attention block"):
        apply_rewrite("permute_heads", {}, model, read_inputs(model, X))


@pytest.mark.parametrize("split", ["separate", "two in one"])
def test_blocks_that_share_one_of_their_layers_are_left_alone(split: str) -> None:
    """Two blocks of layers of their own, but for the queries."""
    one, two = (Block(*SPLITS[split], sdpa).double().eval() for _ in range(2))
    two.first[0] = one.first[0]

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = one, two

        def forward(self, x: Tensor) -> Tensor:
            return self.one(x) + self.two(x)

    model = Both()
    with pytest.raises(NotApplicable, match="no attention block"):
        apply_rewrite("permute_heads", {}, model, read_inputs(model, X))


def test_heads_are_read_where_the_last_dimension_is_one() -> None:
    layer = nn.Linear(SIZE, SIZE)
    numbers = torch.arange(2 * 5 * SIZE).reshape(2, 5, SIZE)
    whole = Channels(layer, numbers).heads
    assert whole is not None
    assert whole.tolist() == [list(range(SIZE))]
    heads = Channels(layer, numbers.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)).heads
    assert heads is not None
    assert heads.tolist() == [list(range(head * WIDTH, (head + 1) * WIDTH)) for head in range(HEADS)]
    assert Channels(layer, numbers.transpose(1, 2)).heads is None
    assert Channels(layer, numbers[:, 1:]).heads is None


def test_a_block_inside_another_module_is_found_too() -> None:
    model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Sequential(Block(*SPLITS["fused"], sdpa))).double().eval()
    with example_of(read_inputs(model, X)):
        (block,) = attentions(model)
    assert block.path == "1.0.last"
    assert block.module is model.get_submodule("1.0")


def test_without_an_example_nothing_is_observed() -> None:
    assert Context().run(observed_blocks, nn.Linear(2, 2)) == []
