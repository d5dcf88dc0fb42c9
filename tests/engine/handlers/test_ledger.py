"""The ledger closes: features plus everything kept is the output, each part in closed form."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import axioms
from axioms.core.errors import InputError, UncoveredOperation
from axioms.core.registry import RULES
from axioms.engine.gradients import scale_gradient
from axioms.subjects.models.modules import ScalarAttention, fixed_linear
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

COMPOSITES: dict[str, dict[str, Any]] = {
    "attnlrp": {},
    "cp_lrp": {},
    "attnlrp with epsilon": {"epsilon": 1e-2},
    "lrp_epsilon": {"epsilon": 1e-2},
    "lrp_gamma": {"gamma": 0.5},
    "lrp_alpha1_beta0": {},
}


def inputs_for(architecture: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    if architecture == "vit":
        return {"pixel_values": torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=generator)}
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return {"input_ids": torch.randint(3, 40, (2, 7), generator=generator), "attention_mask": mask}


@pytest.mark.parametrize("composite", COMPOSITES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nothing_is_unexplained(architecture: str, composite: str) -> None:
    method, options = composite.split()[0], COMPOSITES[composite]
    model = tiny(architecture=architecture)
    found = axioms.attribute(model, inputs_for(architecture), method=method, ledger=True, **options)
    assert found.ledger is not None
    assert found.ledger.output == pytest.approx(found.output.sum().item(), rel=1e-12)
    assert found.ledger.features == pytest.approx(found.scores.sum().item(), rel=1e-9, abs=1e-12)
    assert abs(found.ledger.unexplained / found.ledger.output) < 1e-9


@pytest.mark.parametrize("architecture", [name for name, family in ARCHITECTURES.items() if family.rotary])
def test_cp_lrp_conserves_where_positions_are_rotary_and_biases_zero(architecture: str) -> None:
    model = tiny(architecture=architecture, biases=False)
    found = axioms.attribute(model, inputs_for(architecture), method="cp_lrp")
    torch.testing.assert_close(found.scores.sum(1), found.output, rtol=1e-9, atol=0)


def test_a_learned_sink_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-OSS adds a logit to the softmax's denominator, and experts with biases and a one, which keep some."""
    model = tiny(architecture="gpt-oss", biases=False)
    found = axioms.attribute(model, inputs_for("gpt-oss"), method="cp_lrp", ledger=True)
    assert found.ledger is not None
    keeping = {entry.path for entry in found.ledger.entries if any(abs(x) > 1e-9 for x in entry.absorbed.values())}
    assert keeping == {"model.layers.0.mlp.experts", "model.layers.1.mlp.experts"}

    def without_the_one(experts: Any, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up[..., ::2], gate_up[..., 1::2]
        return up * (gate * torch.sigmoid(gate * experts.alpha))

    experts: Any = [layer.mlp.experts for layer in model.model.layers]  # type: ignore[union-attr]
    for expert in experts:
        with torch.no_grad():  # matrices by their shape, and so not zero yet
            expert.gate_up_proj_bias.zero_()
            expert.down_proj_bias.zero_()
    monkeypatch.setattr(type(experts[0]), "_apply_gate", without_the_one)
    found = axioms.attribute(model, inputs_for("gpt-oss"), method="cp_lrp")
    torch.testing.assert_close(found.scores.sum(1), found.output, rtol=1e-9, atol=0)


def test_every_entry_by_hand() -> None:
    """f = 3 x1 - x2 + 4 at (1, 1) is 6; with epsilon 2 every share is 6 / 8."""
    model = fixed_linear([[3.0, -1.0]], [4.0])
    found = axioms.attribute(
        model, torch.ones(1, 2, dtype=torch.float64), method="lrp_epsilon", epsilon=2.0, ledger=True
    )
    assert found.ledger is not None
    (entry,) = found.ledger.entries
    assert entry.arrived == 6
    assert entry.absorbed == {"bias": 3.0, "epsilon": 1.5}
    assert entry.passed == found.ledger.features == 1.5
    assert found.ledger.unexplained == 0


def test_the_softmax_keeps_what_the_hand_computation_says() -> None:
    """tests/methods/test_lrp_by_hand.py: 19 in all, of which 19/2 + 60 ln 2 / 13 reaches the tokens."""
    model = ScalarAttention(query=0.6931471805599453, key=1.0, value=13.0)
    found = axioms.attribute(model, torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64), ledger=True)
    assert found.ledger is not None
    assert found.ledger.absorbed("softmax") == pytest.approx(19 / 2 - 60 * 0.6931471805599453 / 13)
    assert "softmax" in found.ledger.table()


def test_a_wrong_rule_is_unexplained(replace_rule: Any) -> None:
    """The closed forms know nothing of the rules' code: a rule that is one percent off shows."""
    original = RULES.get("identity").function
    replace_rule("identity", lambda operation: scale_gradient(original(operation), 1.01))
    found = axioms.attribute(tiny(architecture="bert"), inputs_for("bert"), ledger=True)
    assert found.ledger is not None
    assert abs(found.ledger.unexplained / found.ledger.output) > 1e-4


def test_a_method_that_does_not_propagate_has_no_ledger() -> None:
    with pytest.raises(InputError, match="does not propagate relevance"):
        axioms.attribute(nn.Linear(2, 2), torch.ones(1, 2), method="loo", ledger=True)


def test_what_is_not_covered_is_noted_where_the_call_is_not_strict() -> None:
    class Cosine(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.cos(x)

    model = nn.Sequential(Cosine())
    with pytest.raises(UncoveredOperation, match="strict=False"):
        axioms.attribute(model, torch.rand(1, 2))
    found = axioms.attribute(model, torch.rand(1, 2), strict=False)
    assert found.ledger is not None
    assert found.ledger.uncovered == ["cos in 0"]
    assert "no rule for cos in 0" in found.ledger.table()


def test_a_call_that_is_not_strict_leaves_the_next_one_strict() -> None:
    class Foreign(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0]

    class Calls(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return Foreign.apply(x)

    model = Calls()
    found = axioms.attribute(model, torch.rand(1, 2), strict=False)
    assert found.ledger is not None
    assert found.ledger.uncovered == ["Foreign in (the model itself)"]
    with pytest.raises(UncoveredOperation, match="Foreign"):
        axioms.attribute(model, torch.rand(1, 2))
