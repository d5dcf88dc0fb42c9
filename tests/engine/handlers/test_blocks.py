"""Blocks: found without names, crossed by Aumann-Shapley, and left without a trace."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import InputError, ModelFailed, NotDefined
from axioms.engine.handlers.blocks import common, find_blocks
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.subjects.models.modules import LinearAttention, ScalarAttention
from axioms.subjects.models.tiny import tiny

TOKENS = torch.randint(3, 40, (2, 8), generator=torch.Generator().manual_seed(1))
TEXT = {"input_ids": TOKENS, "attention_mask": torch.ones_like(TOKENS)}


@pytest.mark.parametrize(
    ("architecture", "backend", "first"),
    [
        ("bert", "eager", "bert.encoder.layer.0.attention.self"),
        ("bert", "sdpa", "bert.encoder.layer.0.attention.self"),
        ("gpt2", "eager", "transformer.h.0.attn"),
        ("llama", "sdpa", "model.layers.0.self_attn"),
        ("gemma3", "eager", "model.layers.0.self_attn"),
        ("qwen3-moe", "eager", "model.layers.0.self_attn"),
        ("t5-encoder", "eager", "transformer.encoder.block.0.layer.0.SelfAttention"),
    ],
)
def test_blocks_are_the_attention_modules(architecture: str, backend: str, first: str) -> None:
    module = tiny(architecture=architecture, backend=backend)  # type: ignore[arg-type]
    model = Model(module)
    inputs = read_inputs(module, TEXT)
    with model.at_rest():
        found = find_blocks(model, inputs.with_features(inputs.features.requires_grad_()))
    assert found == (first, first.replace(".0.", ".1.", 1))


def test_common_is_the_innermost_module_around_both() -> None:
    assert common("a.0.attn.q", "a.0.attn") == "a.0.attn"
    assert common("a.0.attn", "a.1.attn") == "a"
    assert common("a", "b") == ""


def test_aumann_shapley_against_plain_quadrature() -> None:
    """The rule on softmax attention against Simpson's rule on Jacobians."""
    model = ScalarAttention(0.7, 1.0, 2.0)
    x = torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64)
    places = np.linspace(0, 1, 401)
    slopes = np.array([torch.autograd.functional.jacobian(model, place * x)[0, 0].numpy() for place in places])
    simpson = np.ones(401)
    simpson[1:-1:2], simpson[2:-1:2] = 4, 2
    wanted = x.numpy()[0] * (simpson[:, None] * slopes).sum(0) / 1200
    found = axioms.attribute(model, x, 0, "block_lrp").scores[0].numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_two_nodes_are_exact_for_a_multilinear_block() -> None:
    torch.manual_seed(0)
    shape = {"position": True, "embed": True, "pool": "mean", "length": 5, "width": 4, "classes": 3}
    left = LinearAttention(order="left", **shape).double()  # type: ignore[arg-type]
    right = LinearAttention(order="right", **shape).double()  # type: ignore[arg-type]
    right.load_state_dict(left.state_dict())
    x = torch.rand(4, 5, dtype=torch.float64)
    found = axioms.attribute(left, x, 1, "block_lrp", nodes=2)
    many = axioms.attribute(left, x, 1, "block_lrp", nodes=9)
    torch.testing.assert_close(found.scores, many.scores, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.scores, axioms.attribute(right, x, 1, "block_lrp", nodes=2).scores)
    with torch.no_grad():
        change = (left(x) - left(torch.zeros_like(x)))[:, 1]
    torch.testing.assert_close(found.scores.sum(1), change)
    one = axioms.attribute(left, x, 1, "block_lrp", nodes=1).scores.sum(1)
    assert (one - change).abs().max() > 1e-6  # fewer do not do


def test_complete_to_1e_6_at_the_default_and_better_with_every_node() -> None:
    """What the quadrature leaves is the ledger's only unexplained entry."""
    for architecture in ("bert", "llama", "gpt2"):
        errors = []
        for nodes in (2, 4, 8, 16):
            found = axioms.attribute(
                tiny(architecture=architecture), TEXT, method="block_lrp", nodes=nodes, ledger=True
            )
            assert found.ledger is not None
            errors.append(abs(found.ledger.unexplained / found.ledger.output))
        assert errors[-1] < 1e-6
        assert errors[0] > errors[2] >= errors[3] or errors[2] < 1e-12


def rewritten_inside(model: nn.Module) -> nn.Module:
    """BERT with heads exchanged, queries scaled against keys and values against their projection."""
    changed = copy.deepcopy(model)
    with torch.no_grad():
        for layer in changed.bert.encoder.layer:  # type: ignore[union-attr]
            inner: Any = layer.attention.self
            order = torch.arange(16).reshape(2, 8).flip(0).flatten()
            for linear, scale in ((inner.query, 2.0), (inner.key, 0.5), (inner.value, 4.0)):
                linear.weight.copy_(linear.weight[order] * scale)
                linear.bias.copy_(linear.bias[order] * scale)
            layer.attention.output.dense.weight.copy_(layer.attention.output.dense.weight[:, order] / 4)
    return changed


def test_what_happens_inside_a_block_does_not_matter() -> None:
    model = tiny(architecture="bert")
    changed = rewritten_inside(model)
    found = axioms.attribute(model, TEXT, method="block_lrp").scores
    torch.testing.assert_close(found, axioms.attribute(changed, TEXT, method="block_lrp").scores, rtol=1e-9, atol=1e-12)


def test_other_nodes_see_no_cache_of_earlier_ones() -> None:
    model = tiny(architecture="llama")
    assert model.config.use_cache  # type: ignore[union-attr]
    found = axioms.attribute(model, TEXT, method="block_lrp").scores
    model.config.use_cache = False  # type: ignore[union-attr]
    torch.testing.assert_close(found, axioms.attribute(model, TEXT, method="block_lrp").scores)


def test_a_block_that_fails_leaves_no_hooks() -> None:
    class Picky(ScalarAttention):
        def forward(self, features: Tensor) -> Tensor:
            if features.abs().max() < 0.5:
                raise RuntimeError("too small")
            return super().forward(features)

    model = Picky(0.7, 1.0, 2.0)
    x = torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64)
    with pytest.raises(ModelFailed, match="too small"):
        axioms.attribute(model, x, 0, "block_lrp")
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


def test_it_needs_a_node() -> None:
    with pytest.raises(InputError, match="at least one node"):
        axioms.attribute(ScalarAttention(1, 1, 1), torch.ones(1, 3, dtype=torch.float64), 0, "block_lrp", nodes=0)


def test_what_a_block_puts_out_beside_its_value_carries_no_relevance() -> None:
    """Attention weights that are read again are constants there."""

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Pair()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value, weights = self.inner(x)
            return value.flatten(1).sum(1, keepdim=True) + weights.flatten(1).sum(1, keepdim=True)

    class Pair(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            weights = x @ x.transpose(1, 2)
            return weights @ x, weights

    x = torch.randn(1, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = axioms.attribute(Reads(), x, target=0, method="block_lrp", nodes=3)
    torch.testing.assert_close(found.scores.sum(), Pair()(x)[0].sum())


def test_a_block_that_takes_a_list_of_variables_is_not_one_operation() -> None:
    class Listed(nn.Module):
        def forward(self, given: list[torch.Tensor]) -> torch.Tensor:
            return (given[0] @ given[0].transpose(1, 2)) @ given[1]

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Listed()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner([x, x]).flatten(1)

    x = torch.ones(1, 2, 2, dtype=torch.float64)
    with pytest.raises(NotDefined, match="Listed as one operation: it takes lists of variables"):
        axioms.attribute(Outer(), x, target=0, method="block_lrp")
