"""A sweep equals computing each of its settings on its own, shares what they share, and notices a broken switch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import InputError
from axioms.engine.handlers import propagate as engine
from axioms.engine.handlers import sweep as sweeping
from axioms.engine.handlers import switch as switching
from axioms.engine.handlers.sweep import Sweep, distinct, settings, sweep
from axioms.methods.lrp import attnlrp_composite
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.subjects.models.tiny import tiny

KINDS = ("single", "front_to_back", "back_to_front")
GATED = ("llama", "modernbert")
"""Their MLPs are gated, and CP-LRP holds a gate constant where AttnLRP splits its product."""


def given(architecture: str) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    if architecture == "vit":
        return {"pixel_values": torch.randn(3, 3, 8, 8, generator=generator, dtype=torch.float64)}
    mask = torch.ones(3, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {"input_ids": torch.randint(3, 40, (3, 7), generator=generator), "attention_mask": mask}


def swept(module: nn.Module, inputs: Any, *, epsilon: float = 0.0, batch_size: int | None = None) -> Sweep:
    model, read = Model(module), read_inputs(module, inputs)
    with torch.no_grad():
        target = choose("predicted", model(read))
    return sweep(model, read, target, attnlrp_composite(epsilon), KINDS, batch_size=batch_size)


def alone(module: nn.Module, inputs: Any, bypassed: frozenset[int], **options: Any) -> Tensor:
    return axioms.attribute(module, inputs, method="attnlrp", bypass={"softmax": sorted(bypassed)}, **options).scores


def gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max() / right.abs().max())


@pytest.mark.parametrize(("backend", "epsilon"), [("eager", 0.0), ("eager", 1e-3), ("sdpa", 0.0)])
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama", "modernbert", "vit"])
def test_every_setting_equals_its_own_computation(architecture: str, backend: str, epsilon: float) -> None:
    module, inputs = tiny(architecture=architecture, backend=backend), given(architecture)  # type: ignore[arg-type]
    found = swept(module, inputs, epsilon=epsilon)
    assert set(found.scores) == set(distinct(KINDS, found.layers))
    for bypassed, scores in found.scores.items():
        assert gap(scores, alone(module, inputs, bypassed, epsilon=epsilon)) <= 1e-12, sorted(bypassed)
    everything, nothing = found.scores[frozenset(found.layers)], found.scores[frozenset()]
    assert gap(nothing, axioms.attribute(module, inputs, method="attnlrp", epsilon=epsilon).scores) <= 1e-12
    cp_lrp = axioms.attribute(module, inputs, method="cp_lrp", epsilon=epsilon).scores
    assert (gap(everything, cp_lrp) <= 1e-12) == (architecture not in GATED)
    assert gap(everything, nothing) > 1e-2, "bypassing must change something"


def test_settings_of_each_kind() -> None:
    assert settings("single", [1, 2, 3]) == [{1}, {2}, {3}]
    assert settings("front_to_back", [1, 2, 3]) == [{1}, {1, 2}, {1, 2, 3}]
    assert settings("back_to_front", [1, 2, 3]) == [{1, 2, 3}, {2, 3}, {3}]
    assert len(distinct(KINDS, range(1, 13))) == 3 * 12 - 2, "equal settings are one"


def deep(layers: int = 5) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=24
    )
    module = BertForSequenceClassification(config).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(8 if parameter.dim() > 1 else 1)
    return module.eval()


class Counted:
    """Counts forward passes and partial backward passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.forwards = self.backwards = 0
        forward, grad = engine.forward, torch.autograd.grad

        def count_forward(*args: Any, **kwargs: Any) -> Any:
            self.forwards += 1
            return forward(*args, **kwargs)

        def count_grad(*args: Any, **kwargs: Any) -> Any:
            self.backwards += 1
            return grad(*args, **kwargs)

        monkeypatch.setattr(sweeping, "forward", count_forward)
        monkeypatch.setattr(torch.autograd, "grad", count_grad)


def test_one_forward_pass_and_each_stretch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layer by layer from the top there are two trunks; a setting leaves one of them at its own layer.

    With L layers: `single` and `front_to_back` leave the plain trunk by one common step in layer k < L and then go
    k - 1 steps each; `back_to_front` leaves the bypassed trunk after layer k and goes k - 1 steps, where for k = L that
    is `single`. Each of the 3 L - 2 settings ends with one step through the embeddings.
    """
    module, inputs, layers = deep(5), given("bert"), 5
    counted = Counted(monkeypatch)
    found = swept(module, inputs)
    steps = 2 * layers + (layers - 1) + layers * (layers - 1) // 2 + 2 * ((layers - 1) * (layers - 2) // 2)
    assert (counted.forwards, counted.backwards) == (1, steps + 3 * layers - 2)
    monkeypatch.undo()
    for bypassed, scores in found.scores.items():
        assert gap(scores, alone(module, inputs, bypassed)) <= 1e-12


def test_batches_are_put_together_in_order() -> None:
    module, inputs = tiny(architecture="bert"), given("bert")
    whole, cut = swept(module, inputs), swept(module, inputs, batch_size=2)
    for bypassed, scores in whole.scores.items():
        assert gap(cut.scores[bypassed], scores) <= 1e-12


class Block(nn.Module):
    """Self-attention with a residual; beside the hidden states, something else that depends on the input comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 12)

    def forward(self, hidden: Tensor, beside: Tensor) -> Tensor:
        q, k, v = self.project(hidden).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        return hidden + weights.clone() @ (v + beside)


class Stack(nn.Module):
    """Two blocks, between which the input itself goes round the boundary, or does not."""

    def __init__(self, around: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.around = around
        self.blocks = nn.ModuleList([Block(), Block(), Block()])
        self.head = nn.Linear(4, 2)
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        hidden = x
        for block in self.blocks:
            hidden = block(hidden, x if self.around else torch.ones_like(x))
        return self.head(hidden.mean(dim=1))


@pytest.mark.parametrize(("around", "stretches"), [(False, 3), (True, 1)])
def test_a_boundary_that_something_goes_round_is_no_cut(
    monkeypatch: pytest.MonkeyPatch, around: bool, stretches: int
) -> None:
    seen: list[int] = []
    original = sweeping.cut

    def noted(*args: Any) -> Any:
        segments = original(*args)
        seen.append(len(segments))
        return segments

    monkeypatch.setattr(sweeping, "cut", noted)
    module, x = Stack(around), torch.randn(2, 5, 4, dtype=torch.float64)
    found = swept(module, x)
    assert seen == [stretches]
    for bypassed, scores in found.scores.items():
        assert gap(scores, alone(module, x, bypassed)) <= 1e-12


class Outside(nn.Module):
    """Its layers are numbered, but its softmax is called outside of them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 12), nn.Linear(4, 12)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            q, k, v = layer(x).chunk(3, dim=-1)
            x = x + torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
        return x.sum(dim=(1, 2))


def test_a_model_whose_layers_have_no_softmax_says_so() -> None:
    with pytest.raises(InputError, match="needs layers with a softmax"):
        swept(Outside(), torch.randn(2, 3, 4))
    with pytest.raises(InputError, match="needs layers with a softmax"):
        swept(nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(2, 3))


class Handled(nn.Module):
    """A layer that handles its attention weights in every way that must not lose sight of where they come from."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.project = nn.Linear(4, 12)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        if self.way == "cast":
            weights = weights.to(torch.float32).to(v.dtype)
        elif self.way == "scaled in place":
            weights = weights.clone()
            weights *= 0.5
        elif self.way == "buffer":
            buffer = torch.zeros_like(weights)
            buffer[:, :2] = weights[:, :2]
            weights = buffer
        elif self.way == "mixed in place":  # no longer constant where the softmax is bypassed
            weights = weights.clone()
            weights += q @ k.transpose(-2, -1)
        elif self.way == "activation":
            weights = nn.functional.relu(weights)
        elif self.way == "number by number":
            return x + (weights.unsqueeze(-1) * v.unsqueeze(1)).sum(dim=2)
        elif self.way == "einsum":
            return x + torch.einsum("bij,bjd->bid", weights, v)
        elif self.way == "twice":
            return x + (weights @ weights) @ v
        return x + weights @ v


@pytest.mark.parametrize(
    "way", ["cast", "scaled in place", "buffer", "mixed in place", "activation", "number by number", "einsum", "twice"]
)
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_attention_weights_are_followed(way: str, epsilon: float) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(Handled(way), Handled(way), nn.Flatten(), nn.Linear(12, 2)).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    found = swept(module, x, epsilon=epsilon)
    assert found.layers == (1, 2)
    for bypassed, scores in found.scores.items():
        assert gap(scores, alone(module, x, bypassed, epsilon=epsilon)) <= 1e-12, sorted(bypassed)


def test_relevance_is_zero_where_every_path_is_bypassed() -> None:
    class Weights(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.softmax(x, dim=-1)

    module = nn.Sequential(Weights(), nn.Linear(3, 2))
    scores = swept(module, torch.randn(2, 3)).scores
    assert torch.equal(scores[frozenset((1,))], torch.zeros(2, 3))
    assert bool((scores[frozenset()] != 0).any())


def mismatches(module: nn.Module, inputs: Any) -> list[frozenset[int]]:
    return [
        each
        for each, scores in swept(module, inputs).scores.items()
        if gap(scores, alone(module, inputs, each)) > 1e-12
    ]


@pytest.mark.parametrize("broken", ["_Softmax", "_Product"])
def test_a_switch_that_ignores_one_layer_is_noticed(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """The seeded fault: layer 2 is never bypassed, at its softmax or at its product."""
    module, inputs = deep(3), given("bert")
    assert not mismatches(module, inputs)
    original = getattr(switching, broken).backward

    def deaf(ctx: Any, *gradients: Any) -> Any:
        if 2 not in ctx.layers:
            return original(ctx, *gradients)
        kept, ctx.switch.bypassed = ctx.switch.bypassed, frozenset()
        try:
            return original(ctx, *gradients)
        finally:
            ctx.switch.bypassed = kept

    monkeypatch.setattr(getattr(switching, broken), "backward", staticmethod(deaf))
    assert {frozenset(each) for each in mismatches(module, inputs)} == {
        each for each in distinct(KINDS, (1, 2, 3)) if 2 in each
    }
