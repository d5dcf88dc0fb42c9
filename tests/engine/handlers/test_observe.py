"""What a forward pass does, seen call by call: attention with its values and its map, norms, and where."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.engine.handlers.observe import observe
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.subjects.models.tiny import tiny

TOKENS, SIZE, HEADS = 3, 4, 2


class Written(nn.Module):
    """One layer of attention, in one of several ways, that may give an output for every position."""

    def __init__(self, way: str = "matmul", per_position: bool = False, masked: bool = True) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.after = nn.LayerNorm(SIZE), nn.RMSNorm(SIZE)
        self.q, self.k, self.v, self.o = (nn.Linear(SIZE, SIZE) for _ in range(4))
        self.way, self.per_position, self.masked = way, per_position, masked

    def forward(self, x: Tensor) -> Any:
        normed = self.norm(x)
        q, k, v = (part(normed).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1)
        if self.masked:
            lowest = torch.finfo(x.dtype).min
            scores = scores + torch.full((TOKENS, TOKENS), lowest, dtype=x.dtype).triu(1)
        if self.way == "folded":
            weights = scores.flatten(0, 1).softmax(-1)
            mixed = (weights @ v.flatten(0, 1)).unflatten(0, (-1, HEADS))
        elif self.way == "einsum":
            mixed = torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)
        else:
            mixed = scores.softmax(-1) @ v
        read = mixed.transpose(1, 2).flatten(2)
        read = (
            torch.addmm(self.o.bias, read.flatten(0, 1), self.o.weight.T).view(x.shape)
            if self.way == "addmm"
            else self.o(read)
        )
        hidden = self.after(x + read)
        return hidden if self.per_position else hidden[:, 0]


def given() -> Inputs:
    return Inputs(torch.randn(2, TOKENS, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


@pytest.mark.parametrize("per_position", [True, False])
@pytest.mark.parametrize("way", ["matmul", "folded", "einsum", "addmm"])
def test_an_attention_is_seen_with_its_values_and_its_map(way: str, per_position: bool) -> None:
    module, inputs = Written(way, per_position).double(), given()
    seen = observe(Model(module), inputs)
    assert seen.per_position == per_position
    (attention,) = seen.attentions
    with torch.no_grad():
        normed = module.norm(inputs.features)
        q, k, v = (part(normed).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (module.q, module.k, module.v))
        scores = (q @ k.transpose(-2, -1)).masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), float("-inf"))
    torch.testing.assert_close(attention.weights, scores.softmax(-1))
    assert torch.equal(attention.allowed, torch.ones(TOKENS, TOKENS).tril().bool().expand(2, HEADS, TOKENS, TOKENS))
    assert attention.values is not None
    torch.testing.assert_close(attention.values, v)
    assert attention.projection is not None
    assert torch.equal(attention.projection.matrix, module.o.weight.T)
    assert attention.projection.bias is not None
    assert torch.equal(attention.projection.bias, module.o.bias)
    norms = [call for call in seen.calls if call is not attention]
    assert [call.path for call in norms] == ["norm", "after"]
    assert torch.equal(norms[0].input, inputs.features)  # type: ignore[union-attr]
    assert not seen.output.requires_grad
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_what_is_no_attention_is_not_seen() -> None:
    class Router(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.route = nn.Linear(SIZE, 2)

        def forward(self, x: Tensor) -> Tensor:
            chosen = self.route(x).softmax(-1)  # tokens x experts: not square
            return (chosen @ chosen.transpose(1, 2))[:, 0]

    assert observe(Model(Router().double()), given()).attentions == []


@pytest.mark.parametrize(
    ("per_position", "masked", "read"), [(True, True, 2), (True, False, 2), (False, True, 2), (False, False, 0)]
)
def test_rollout_reads_the_last_token_where_attention_is_causal(per_position: bool, masked: bool, read: int) -> None:
    module = Written(per_position=per_position, masked=masked).double()
    x = given().features

    def rollout(way: str) -> Tensor:
        return axioms.attribute(module, x, target=0, method="attention_rollout", read=way).scores

    (attention,) = observe(Model(module), given()).attentions
    mixed = attention.weights.mean(1) + torch.eye(TOKENS)
    rows = mixed / mixed.sum(-1, keepdim=True)
    torch.testing.assert_close(rollout("auto"), rows[:, read])
    torch.testing.assert_close(rollout("first"), rows[:, 0])
    torch.testing.assert_close(rollout("last"), rows[:, -1])


def test_a_norm_that_is_written_out_is_seen_once_with_its_modules_input() -> None:
    llama: Any = tiny(architecture="llama")
    ids = torch.tensor([[5, 9, 13, 4]])
    seen = observe(Model(llama), read_inputs(llama, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}))
    paths = [call.path for call in seen.calls]
    layers = llama.config.num_hidden_layers
    assert len(paths) == 3 * layers + 1  # two norms and an attention in each layer, and a norm at the end
    assert paths[0] == "model.layers.0.input_layernorm"
    assert paths[-1] == "model.norm"
    assert seen.per_position


def test_one_causal_layer_does_not_make_a_model_causal() -> None:
    class Both(nn.Module):
        def __init__(self, *masked: bool) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Written(per_position=True, masked=each) for each in masked).double()

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = layer(x)
            return x[:, 0]

    for masked, read in (((True, True), "last"), ((True, False), "first"), ((False, True), "first")):
        auto, wanted = (
            axioms.attribute(Both(*masked), given().features, target=0, method="attention_rollout", read=way).scores
            for way in ("auto", read)
        )
        torch.testing.assert_close(auto, wanted)


def test_a_size_of_the_whole_example_is_no_norm() -> None:
    class Sized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Divides()

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)[:, 0]

    class Divides(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x / torch.linalg.vector_norm(x.flatten(1), dim=1).reshape(-1, 1, 1)

    assert observe(Model(Sized()), given()).calls == []


def test_a_norm_that_takes_two_roots_is_one_norm_of_each_call() -> None:
    class Twice(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            size = x.square().mean(-1, keepdim=True)
            return x / size.sqrt() + x * size.rsqrt()

    class Thrice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Twice(), Twice()

        def forward(self, x: Tensor) -> Tensor:
            return self.first(self.second(self.first(x)))[:, 0]

    seen = observe(Model(Thrice()), given()).calls
    assert [call.path for call in seen] == ["first", "second", "first"]
    assert torch.equal(seen[0].input, given().features)  # type: ignore[union-attr]
