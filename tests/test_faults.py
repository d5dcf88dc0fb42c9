"""Breaking the engine breaks the suite: each fault makes the spec that covers it fail, through pytest itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from axioms.core.registry import RULES
from axioms.engine.gradients import scale_gradient
from axioms.engine.operations import Operation
from axioms.subjects.load import load_model

Replace = Callable[[str, Callable[..., Tensor]], None]

COVERED_BY = {
    "epsilon": "linear_epsilon.yaml",
    "uniform": "scalar_product.yaml",
    "signal_take_all": "scalar_product.yaml",
    "taylor": "softmax_attention.yaml",
    "stop": "softmax_attention_transposed.yaml",
    "identity": "activation.yaml",
    "norm_as_linear": "layer_norm.yaml",
    "gamma": "linear_rules.yaml",
    "alpha1_beta0": "linear_rules.yaml",
    "scan_product": "selective_scan.yaml",
    "degree": "scalar_product.yaml",
    "aumann_shapley": "scalar_product.yaml",
}
"""A spec that notices when the rule is off."""

Outcome = Callable[..., int]


@pytest.fixture
def failures(root: Path, pytester: pytest.Pytester) -> Outcome:
    """Run one spec of this checkout in this process and count what fails."""

    def run(spec: str, *arguments: str) -> int:
        report = str(pytester.path / "report")
        session = pytester.inline_run(
            str(root / "specs" / spec),
            f"--rootdir={root}",
            f"--axioms-report={report}",
            "-p",
            "no:cacheprovider",
            *arguments,
        )
        return len(session.listoutcomes()[2])

    return run


@pytest.mark.parametrize("spec", sorted(set(COVERED_BY.values())))
def test_without_a_fault_everything_passes(failures: Outcome, spec: str) -> None:
    assert failures(spec) == 0


def test_every_rule_is_covered_by_a_spec() -> None:
    assert set(COVERED_BY) == set(RULES)


def whole(operation: Operation, *, epsilon: float = 0.0) -> Tensor:
    """The product rule with 1 in place of 1/2."""
    value: Tensor = operation.forward()
    return value


def test_product_rule_with_one_in_place_of_a_half(failures: Outcome, replace_rule: Replace) -> None:
    replace_rule("uniform", whole)
    assert failures("scalar_product.yaml") > 0


def test_softmax_rule_removed(failures: Outcome, replace_rule: Replace) -> None:
    replace_rule("taylor", RULES.get("stop").function)
    assert failures("softmax_attention.yaml") > 0


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_factor_off_by_one_percent(failures: Outcome, replace_rule: Replace, name: str) -> None:
    replace_rule(name, off_by_one_percent(name))
    assert failures(COVERED_BY[name]) > 0


def off_by_one_percent(name: str) -> Callable[..., Tensor]:
    """The rule with 1.01 times its relevance; `stop`, whose factor is 0, with 0.01 of what it should hold back."""
    original = RULES.get(name).function

    def off(operation: Operation, **options: float) -> Tensor:
        value: Tensor = operation.forward()
        return scale_gradient(value, 0.01) if name == "stop" else scale_gradient(original(operation, **options), 1.01)

    return off


@pytest.mark.parametrize("spec", ["linear_attention.yaml"])
def test_a_pair_whose_weights_are_nudged(failures: Outcome, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    original = load_model

    def nudged(name, options, *rest):  # type: ignore[no-untyped-def]
        model = original(name, options, *rest)
        if options.get("order") == "right":
            with torch.no_grad():
                model.module.get_submodule("value").get_parameter("weight").add_(1e-3)
        return model

    monkeypatch.setattr("axioms.run.models.load_model", nudged)
    assert failures(spec, "-k", "forward_equivalence or (invariance and cp_lrp)") >= 2, (
        "the pair itself, and what relies on it"
    )


def test_specs_pass_in_float32(failures: Outcome) -> None:
    """What tests marked `gpu` ask of CUDA, on the CPU."""
    for spec in ("scalar_product.yaml", "softmax_attention.yaml", "linear_epsilon.yaml"):
        assert failures(spec, "--axioms-dtype", "float32") == 0
    assert failures("linear_attention.yaml", "--axioms-dtype", "float32", "-k", "invariance and not loo") == 0
