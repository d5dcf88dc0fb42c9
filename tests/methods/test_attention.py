"""Attention rollout, and the observation of attention that it rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import axioms
from axioms.core.dtypes import KeepFloat64
from axioms.core.errors import InputError
from axioms.engine.handlers.observe import observe
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.subjects.models.modules import Expression, ScalarAttention
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

IDS = torch.tensor([[5, 7, 11, 13, 9], [8, 30, 21, 4, 17]])
LAST_TOKEN = ("gpt2", "llama", "mistral", "qwen3", "gemma3", "opt")


def given(ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def attentions_by_the_library(model: nn.Module, ids: torch.Tensor) -> list[np.ndarray]:
    """What transformers itself returns: one batch x heads x T x T per layer."""
    with torch.no_grad(), KeepFloat64():
        return [each.numpy() for each in model(**given(ids), output_attentions=True).attentions]


def rollout_by_hand(attentions: list[np.ndarray], example: int) -> np.ndarray:
    """The authors' loop (attention_graph_util.py), on one example."""
    joint = None
    for layer in attentions:
        mean = layer[example].sum(axis=0) / layer.shape[1]
        mixed = mean + np.eye(len(mean))
        mixed = mixed / mixed.sum(axis=-1, keepdims=True)
        joint = mixed if joint is None else mixed @ joint
    assert joint is not None
    return joint


@pytest.mark.parametrize("architecture", ["bert", "distilbert", *LAST_TOKEN])
def test_rollout_is_the_product_of_the_mixed_matrices(architecture: str) -> None:
    attentions = attentions_by_the_library(tiny(architecture=architecture), IDS)
    for backend in ("eager", "sdpa"):
        model = tiny(architecture=architecture, backend=backend)
        found = {
            read: axioms.attribute(model, given(IDS), method="attention_rollout", read=read).scores.numpy()
            for read in ("auto", "first", "last")
        }
        for example in range(len(IDS)):
            rollout = rollout_by_hand(attentions, example)
            np.testing.assert_allclose(found["first"][example], rollout[0], atol=1e-12)
            np.testing.assert_allclose(found["last"][example], rollout[-1], atol=1e-12)
        usual = "last" if architecture in LAST_TOKEN else "first"
        np.testing.assert_array_equal(found["auto"], found[usual])


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(architecture: str, side: str) -> None:
    """Rows of padding do not leak, on whichever side it is. Positions are stated, so that they stay the same."""
    model = tiny(architecture=architecture)
    alone = axioms.attribute(model, given(IDS), target=0, method="attention_rollout", read="last").scores
    pad = torch.zeros(2, 3, dtype=torch.long)
    real = torch.ones_like(IDS)
    order = (lambda a, b: torch.cat([a, b], 1)) if side == "left" else (lambda a, b: torch.cat([b, a], 1))
    places = order(pad, torch.arange(5).expand(2, 5))
    padded = {"input_ids": order(pad, IDS), "attention_mask": order(pad, real), "position_ids": places}
    found = axioms.attribute(model, padded, target=0, method="attention_rollout", read="last").scores
    torch.testing.assert_close(found, order(torch.zeros(2, 3, dtype=torch.float64), alone), rtol=0, atol=1e-12)


def test_a_padded_row_that_is_not_a_number_does_not_leak() -> None:
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            both = attention_mask[:, :, None] * attention_mask[:, None, :]
            weights = torch.softmax((x @ x.transpose(1, 2)).masked_fill(both == 0, -torch.inf), dim=-1)
            return (weights @ x)[:, 0]

    x = torch.rand(2, 4, 3, dtype=torch.float64)
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]])
    found = axioms.attribute(Masked(), {"x": x, "attention_mask": mask}, target=0, method="attention_rollout").scores
    assert torch.isfinite(found).all()
    assert (found[mask == 0] == 0).all()


def test_one_layer_without_heads() -> None:
    """A by hand from tests/methods/test_lrp_by_hand.py: (4, 1, 8) / 13 in the first row."""
    model = ScalarAttention(query=float(np.log(2)), key=1.0, value=13.0)
    x = torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64)
    found = axioms.attribute(model, x, method="attention_rollout").scores
    torch.testing.assert_close(found, torch.tensor([[17, 1, 8]], dtype=torch.float64) / 26)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama", "phi3", "qwen3", "opt"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_what_is_observed_gives_the_attention_modules_output(architecture: str, backend: Any) -> None:
    """A V and the projection after it, put together again, are what the model's own modules returned."""
    model = tiny(architecture=architecture, backend=backend)
    returned = []

    def note(module: nn.Module, args: object, output: object) -> None:
        returned.append(output[0] if isinstance(output, tuple) else output)

    owners = [
        module
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in ("attn", "self_attn") or name.endswith("attention.output.dense")
    ]
    handles = [module.register_forward_hook(note) for module in owners]
    seen = observe(Model(model), read_inputs(model, given(IDS)))
    for handle in handles:
        handle.remove()
    assert len(seen.attentions) == len(returned) == 2
    for attention, wanted in zip(seen.attentions, returned, strict=True):
        assert attention.values is not None
        assert attention.projection is not None
        mixed = (attention.weights @ attention.values).transpose(1, 2).flatten(2)
        bias = attention.projection.bias
        found = mixed @ attention.projection.matrix + (0 if bias is None else bias)
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
        assert attention.path.rpartition(".")[2] in ("attn", "self_attn", "self")


def test_nothing_is_left_behind() -> None:
    model = tiny(architecture="gpt2")
    axioms.attribute(model, given(IDS), method="attention_rollout")
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - {"vit", "mamba", "gpt-oss"}))
def test_every_family_has_a_rollout(architecture: str) -> None:
    found = axioms.attribute(tiny(architecture=architecture), given(IDS), method="attention_rollout").scores
    torch.testing.assert_close(found.sum(1), torch.ones(2, dtype=torch.float64))
    assert (found >= 0).all()


def test_models_without_attention_are_refused() -> None:
    with pytest.raises(InputError, match="no softmax of this model"):
        axioms.attribute(Expression(lambda a, b: a * b), torch.ones(1, 2), method="attention_rollout")


def test_positions_that_are_not_the_features_are_refused() -> None:
    pixels = {"pixel_values": torch.rand(1, 3, 8, 8, dtype=torch.float64)}
    with pytest.raises(InputError, match=r"one position per feature \(3\); the model attends over 5"):
        axioms.attribute(tiny(architecture="vit"), pixels, method="attention_rollout")
