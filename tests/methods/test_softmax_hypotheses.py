"""Section 3.2's two hypotheses in closed form: what AttnLRP, CP-LRP and leave-one-out give on one attention block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import axioms
from axioms.core.registry import RULES
from axioms.engine.gradients import scale_gradient
from axioms.engine.operations import Operation
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.subjects.models.modules import AttentionBlock

SPECS = [
    "structural_bias.yaml",
    "structural_bias_unequal.yaml",
    "structural_bias_zero.yaml",
    "linearization_error.yaml",
]
numbers = st.floats(-3, 3, allow_subnormal=False)
tokens = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=6)


def attributed(level: float, block: list[tuple[float, float]], method: str) -> np.ndarray:
    x = torch.tensor([block], dtype=torch.float64)
    given_ = {"features": x, "attention_mask": torch.ones(x.shape[:2], dtype=torch.long)}
    return axioms.attribute(AttentionBlock(level), given_, target=0, method=method).scores[0].numpy()


def by_hand(level: float, block: list[tuple[float, float]]) -> dict[str, np.ndarray]:
    """Equations (2) to (5) with d_k = 1 at the first query, without torch.

    A_i v_i / 2 through the value; Z_i A_i (v_i - O) / 2 through the softmax, half to the key and half to the query.
    """
    keys, values = np.array(block).T
    logits = level * keys[0] * keys
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    output = weights @ values
    through_softmax = logits * weights * (values - output) / 2
    attnlrp = weights * values / 2 + through_softmax / 2
    attnlrp[0] += through_softmax.sum() / 2
    without = [np.delete(weights, i) @ np.delete(values, i) / np.delete(weights, i).sum() for i in range(len(block))]
    return {"attnlrp": attnlrp, "cp_lrp": weights * values, "loo": output - np.array(without)}


@given(tokens, st.floats(-4, 4, allow_subnormal=False))
def test_the_block_in_closed_form(block: list[tuple[float, float]], level: float) -> None:
    for method, expected in by_hand(level, block).items():
        np.testing.assert_allclose(attributed(level, block, method), expected, rtol=1e-9, atol=1e-9)


@given(st.lists(numbers, min_size=2, max_size=6), st.floats(-50, 50))
def test_a_common_logit_is_no_part_of_the_function_but_of_attnlrp(values: list[float], level: float) -> None:
    """With every logit c: LOO (v_i - f) / (n - 1), CP-LRP v_i / n, AttnLRP v_i / 2n + c (v_i - f) / 4n."""
    block, n = [(1.0, value) for value in values], len(values)
    v, mean = np.array(values), float(np.mean(values))
    expected = {
        "loo": (v - mean) / (n - 1),
        "cp_lrp": v / n,
        "attnlrp": v / (2 * n) + level * (v - mean) / (4 * n),
    }
    for method, scores in expected.items():
        np.testing.assert_allclose(attributed(level, block, method), scores, rtol=1e-9, atol=1e-9)


def failures(root: Path, spec: str) -> list[str]:
    runner = Runner()
    checks = expand_file(root / "specs" / spec).checks
    return [f"{check.function}[{check.id}]" for check in checks if not runner.run(check).judgement.passed]


def halved_not(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """The product rule with 1 in place of 1/2."""
    return operation.forward()


def unmasked(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A model that does not look at its attention mask, so that removing a token changes nothing."""

    def forward(self: AttentionBlock, features: Tensor, attention_mask: Tensor) -> Tensor:
        return original(self, features, torch.ones_like(attention_mask))

    return forward


@pytest.mark.parametrize("spec", SPECS)
def test_the_specs_hold_and_notice_faults(root: Path, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    assert failures(root, spec) == []
    with monkeypatch.context() as patch:
        patch.setitem(RULES._entries, "uniform", replace(RULES.get("uniform"), function=halved_not))
        assert any("attnlrp" in each for each in failures(root, spec))
    epsilon = RULES.get("epsilon")  # CP-LRP's rule for O = A V, which is linear in V once A is constant

    def off(operation: Operation, **options: Any) -> Tensor:
        return scale_gradient(epsilon.function(operation, **options), 1.01)

    with monkeypatch.context() as patch:
        patch.setitem(RULES._entries, "epsilon", replace(epsilon, function=off))
        assert any("cp_lrp" in each for each in failures(root, spec))
    if spec in ("structural_bias_unequal.yaml", "linearization_error.yaml"):
        monkeypatch.setattr(AttentionBlock, "forward", unmasked(AttentionBlock.forward))
        assert any("loo" in each for each in failures(root, spec))


def test_linearization_notices_a_softmax_without_its_rule(root: Path, replace_rule: Any) -> None:
    replace_rule("taylor", RULES.get("stop").function)
    assert "implementation_invariance[attnlrp]" in failures(root, "linearization_error.yaml")
