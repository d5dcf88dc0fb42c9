"""Gates: shut they are leave-one-out, open they are nothing, and their slopes are what the algebra says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.engine.handlers.gates import gated
from axioms.methods.gates import slopes
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.subjects.models.tiny import tiny


def text(length: int = 8) -> dict[str, Tensor]:
    ids = torch.randint(3, 40, (2, length), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[1, length - 2 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize(
    ("architecture", "backend"),
    [
        ("bert", "eager"),
        ("bert", "sdpa"),
        ("distilbert", "sdpa"),
        ("modernbert", "eager"),
        ("mpnet", "eager"),
        ("gpt2", "sdpa"),
        ("llama", "eager"),
        ("mistral", "sdpa"),
        ("gemma3", "eager"),
        ("qwen3-moe", "eager"),
        ("t5-encoder", "eager"),
    ],
)
def test_a_shut_gate_is_leave_one_out_and_open_gates_change_nothing(architecture: str, backend: str) -> None:
    # As many tokens as experts: a router's softmax is over an axis of the same length, and must not be gated.
    length = 4 if architecture == "qwen3-moe" else 8
    module = tiny(architecture=architecture, backend=backend)  # type: ignore[arg-type]
    model, inputs = Model(module), read_inputs(module, text(length))
    with torch.no_grad(), model.at_rest():
        outputs = model(inputs)
        target = choose("predicted", outputs)
        gates = torch.ones(2, length, dtype=torch.float64)
        torch.testing.assert_close(gated(model, inputs, gates), outputs, rtol=1e-12, atol=1e-12)
        wanted = METHODS.get("loo").function(model, inputs, target)
        for token in range(length):
            shut = gates.clone()
            shut[:, token] = 0
            change = target(outputs) - target(gated(model, inputs, shut))
            torch.testing.assert_close(change, wanted[:, token], rtol=1e-9, atol=1e-12)


def test_a_learned_sink_has_no_gate() -> None:
    """GPT-OSS adds a logit to the denominator of its softmax: a shut gate is leave-one-out there too."""
    from transformers import GptOssConfig, GptOssForCausalLM

    torch.manual_seed(0)
    size: dict[str, Any] = {
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "head_dim": 8,
    }
    config = GptOssConfig(**size, num_key_value_heads=1, intermediate_size=24, num_local_experts=4, pad_token_id=0)
    config._attn_implementation = config._experts_implementation = "eager"
    module = GptOssForCausalLM(config).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, dtype=torch.float64))
    model, inputs = Model(module), read_inputs(module, text())
    with torch.no_grad(), model.at_rest():
        outputs = model(inputs)
        target = choose("predicted", outputs)
        wanted = METHODS.get("loo").function(model, inputs, target)
        for token in range(7):
            shut = torch.ones(2, 8, dtype=torch.float64)
            shut[:, token] = 0
            change = target(outputs) - target(gated(model, inputs, shut))
            torch.testing.assert_close(change, wanted[:, token], rtol=1e-9, atol=1e-12)


class Attention(nn.Module):
    """One head over tokens of width 3, read at the first token; the softmax is written in different ways."""

    def __init__(self, softmax: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.query, self.key, self.value = (nn.Linear(3, 3).double() for _ in range(3))
        self.softmax = softmax

    def forward(self, features: Tensor, attention_mask: Tensor) -> Tensor:
        mixed = self.weights(features, attention_mask) @ self.value(features)
        return mixed[:, 0].sum(1)

    def weights(self, features: Tensor, attention_mask: Tensor) -> Tensor:
        scores = self.query(features) @ self.key(features).transpose(1, 2) / 3**0.5
        return self.softmax(scores.masked_fill(attention_mask[:, None] == 0, -1e30))


def by_exp(scores: Tensor) -> Tensor:
    shifted = (scores - scores.amax(-1, keepdim=True)).exp()
    return shifted / shifted.sum(-1, keepdim=True)


SOFTMAXES: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda scores: scores.softmax(-1),
    "exp over sum": by_exp,
    "log-softmax": lambda scores: torch.log_softmax(scores, dim=-1).exp(),
    "log-sum-exp": lambda scores: (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp(),
    "transposed": lambda scores: torch.softmax(scores.transpose(1, 2), dim=1).transpose(1, 2),
}


def scene(softmax: str) -> tuple[Attention, Model, Inputs]:
    module = Attention(SOFTMAXES[softmax])
    features = torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    inputs = read_inputs(module, {"features": features, "attention_mask": torch.ones(2, 5, dtype=torch.long)})
    return module, Model(module), inputs


@pytest.mark.parametrize("softmax", SOFTMAXES)
def test_slopes_are_the_closed_forms_however_the_softmax_is_written(softmax: str) -> None:
    """d o / d g_j = A_j (v_j - o), and removing key j altogether changes o by A_j / (1 - A_j) (v_j - o)."""
    module, model, inputs = scene(softmax)
    with torch.no_grad():
        weights = module.weights(inputs.features, torch.ones(2, 5))[:, 0]
        values = module.value(inputs.features).sum(2)
        mixed = (weights * values).sum(1, keepdim=True)
    target = choose(0, torch.zeros(2, 1))
    open_gates = torch.ones(2, 5, dtype=torch.float64)
    with model.at_rest():
        first, output = slopes(model, inputs, target, open_gates)
        exact, same = slopes(model, inputs, target, open_gates, exact_blocks=True)
        removed = METHODS.get("loo").function(model, inputs, target)
    torch.testing.assert_close(output, mixed[:, 0])
    torch.testing.assert_close(same, mixed[:, 0])
    torch.testing.assert_close(first, weights * (values - mixed))
    torch.testing.assert_close(exact, weights / (1 - weights) * (values - mixed))
    torch.testing.assert_close(exact, removed)  # one block, and nothing nonlinear after it


@pytest.mark.parametrize("softmax", SOFTMAXES)
def test_exact_blocks_are_exact_at_any_gate(softmax: str) -> None:
    """With gate j at 0.3 the change is still the one between wide open and shut, others as they are."""
    _, model, inputs = scene(softmax)
    target = choose(0, torch.zeros(2, 1))
    for token in range(5):
        low, high, shut = (torch.ones(2, 5, dtype=torch.float64) for _ in range(3))
        low[:, 1], high[:, 1], shut[:, 1] = 0.6, 0.6, 0.6
        low[:, token], high[:, token], shut[:, token] = 0.3, 1, 0
        with model.at_rest():
            found = slopes(model, inputs, target, low, exact_blocks=True)[0][:, token]
            with torch.no_grad():
                change = target(gated(model, inputs, high)) - target(gated(model, inputs, shut))
        torch.testing.assert_close(found, change)


def test_a_key_that_is_all_there_is_has_no_removal() -> None:
    _, model, inputs = scene("softmax")
    alone = Inputs(
        inputs.features, {"attention_mask": torch.tensor([[1, 0, 0, 0, 0]] * 2)}, inputs.slot, inputs.removal
    )
    with model.at_rest():
        found, _ = slopes(
            model, alone, choose(0, torch.zeros(2, 1)), torch.ones(2, 5, dtype=torch.float64), exact_blocks=True
        )
    assert torch.equal(found, torch.zeros(2, 5, dtype=torch.float64))


def test_without_attention_there_is_nothing_to_gate() -> None:
    model = tiny(architecture="mamba")
    with pytest.raises(InputError, match="none was found"):
        axioms.attribute(model, text(), method="removal_taylor")


def test_put_in_place_of_features() -> None:
    """Removal by zero: x_j(g) = g_j x_j, also for features with a width."""
    module = nn.Linear(3, 2).double()
    x = torch.rand(4, 3, dtype=torch.float64)
    inputs = read_inputs(module, x)
    gates = torch.rand(4, 3, dtype=torch.float64)
    torch.testing.assert_close(gated(Model(module), inputs, gates), module(gates * x))
    with pytest.raises(InputError, match="attention mask"):
        gated(Model(module), inputs, gates, exact_blocks=True)
