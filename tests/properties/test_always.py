"""The axioms of specs/always both ways: a method that keeps one passes, a seeded fault in that method fails."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from axioms.core.dtypes import KeepFloat64
from axioms.core.entries import Method
from axioms.core.errors import InputError, ModelChanged, NotDefined
from axioms.core.registry import METHODS
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.padding import padded
from axioms.properties.backend_invariance import other_attention
from axioms.properties.helpers.state import GROUPS
from axioms.run.runner import Result, Runner
from axioms.spec import Check, expand_file
from axioms.subjects.load import load_model
from axioms.subjects.models.tiny import ARCHITECTURES

Write = Callable[..., Path]
Fault = Callable[[Model, Inputs, Tensor], Tensor | None]
"""Given the scores: others, or None after doing something else that it should not."""

METHOD = "gradient_x_input"
SPEC = """claim: c
subject:
  model: {{tiny: {model}}}
  data: {{random-tokens: {{n: 3, length: 6}}}}
run: {{dtype: {dtype}}}
methods: [{method}]
checks: [{{axiom: {axiom}}}]
"""
AXIOMS = [
    "backend_invariance",
    "batch_invariance",
    "padding_invariance",
    "{padding_invariance: {by: 1, side: left}}",
    "precision",
    "purity",
]


def run(
    write_spec: Write,
    axiom: str,
    model: str = "{architecture: llama}",
    method: str = METHOD,
    dtype: str = "float64",
) -> Result:
    text = SPEC.format(axiom=axiom, model=model, method=method, dtype=dtype)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


def largest(result: Result, metric: str) -> float:
    value = result.measurement.quantity(f"{metric}.max").value
    assert isinstance(value, float)
    return value


@pytest.fixture
def seed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fault], None]:
    """Seed a fault in Gradient x Input."""
    original = METHODS.get(METHOD).function

    def install(fault: Fault) -> None:
        def faulty(model: Model, inputs: Inputs, target: Any) -> Tensor:
            scores: Tensor = original(model, inputs, target)
            changed = fault(model, inputs, scores)
            return scores if changed is None else changed

        monkeypatch.setitem(METHODS._entries, METHOD, Method(METHOD, faulty))

    return install


@pytest.mark.parametrize("axiom", AXIOMS)
@pytest.mark.parametrize("method", [METHOD, "attnlrp", "loo"])
def test_kept(write_spec: Write, axiom: str, method: str) -> None:
    result = run(write_spec, axiom, method=method)
    assert (result.judgement.verdict, result.judgement.passed) == ("holds", True)


def reads_the_backend(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
    config: Any = model.module.config
    return scores * (1.01 if config._attn_implementation == "sdpa" else 1)


def divides_by_the_batch(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
    return scores / scores.abs().mean()


def divides_by_the_length(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
    return scores / scores.shape[1]


def gives_to_padding(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
    return scores + (inputs.fixed["attention_mask"] == 0).unsqueeze(-1)


def rounds_in_float32(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
    return scores if scores.dtype == torch.float64 else (scores * 8).round() / 8


@pytest.mark.parametrize(
    ("axiom", "fault", "metric"),
    [
        ("backend_invariance", reads_the_backend, "relative_gap"),
        ("batch_invariance", divides_by_the_batch, "relative_gap"),
        ("padding_invariance", divides_by_the_length, "relative_gap"),
        ("padding_invariance", gives_to_padding, "on_padding"),
        ("{padding_invariance: {side: left}}", gives_to_padding, "on_padding"),
        ("precision", rounds_in_float32, "amplification"),
    ],
)
def test_broken(write_spec: Write, seed: Callable[[Fault], None], axiom: str, fault: Fault, metric: str) -> None:
    seed(fault)
    judgement = run(write_spec, axiom).judgement
    assert judgement.verdict == "violated"
    assert [finding.metric for finding in judgement.findings] == [f"{metric}.max"]


def test_overflow_in_a_lower_precision_shows_nothing(write_spec: Write, seed: Callable[[Fault], None]) -> None:
    seed(lambda model, inputs, scores: scores * 1e300)
    judgement = run(write_spec, "precision").judgement
    assert (judgement.verdict, judgement.passed) == ("inconclusive", False)


class TestPurity:
    """Each fault is seen, and in its own group."""

    @staticmethod
    def leaves_a_hook(model: Model, inputs: Inputs, scores: Tensor) -> None:
        model.module.register_forward_pre_hook(lambda module, args: None)

    @staticmethod
    def leaves_a_hook_on_a_weight(model: Model, inputs: Inputs, scores: Tensor) -> None:
        weight = next(model.module.parameters()).requires_grad_()
        weight.register_hook(lambda gradient: None)
        weight.requires_grad_(False)

    @staticmethod
    def wants_gradients(model: Model, inputs: Inputs, scores: Tensor) -> None:
        next(model.module.parameters()).requires_grad_()

    @staticmethod
    def leaves_train_mode(model: Model, inputs: Inputs, scores: Tensor) -> None:
        model.module.train()

    @staticmethod
    def leaves_sdpa(model: Model, inputs: Inputs, scores: Tensor) -> None:
        module: Any = model.module
        module.set_attn_implementation("sdpa")

    @staticmethod
    def changes_a_weight(model: Model, inputs: Inputs, scores: Tensor) -> None:
        next(model.module.parameters()).data[0, 0] += 1e-9

    @staticmethod
    def changes_a_buffer(model: Model, inputs: Inputs, scores: Tensor) -> None:
        next(model.module.buffers()).mul_(1.001)

    @staticmethod
    def leaves_a_gradient(model: Model, inputs: Inputs, scores: Tensor) -> None:
        weight = next(model.module.parameters())
        weight.grad = torch.ones_like(weight)

    @staticmethod
    def draws_from_torch(model: Model, inputs: Inputs, scores: Tensor) -> None:
        torch.rand(1)

    @staticmethod
    def draws_from_numpy(model: Model, inputs: Inputs, scores: Tensor) -> None:
        np.random.rand()

    @staticmethod
    def draws_from_python(model: Model, inputs: Inputs, scores: Tensor) -> None:
        random.random()

    @pytest.mark.parametrize(
        ("fault", "group"),
        [
            ("leaves_a_hook", "hooks"),
            ("leaves_a_hook_on_a_weight", "hooks"),
            ("wants_gradients", "flags"),
            ("leaves_train_mode", "flags"),
            ("leaves_sdpa", "flags"),
            ("changes_a_weight", "weights"),
            ("changes_a_buffer", "weights"),
            ("leaves_a_gradient", "weights"),
            ("draws_from_torch", "globals"),
            ("draws_from_numpy", "globals"),
            ("draws_from_python", "globals"),
        ],
    )
    def test_broken(self, write_spec: Write, seed: Callable[[Fault], None], fault: str, group: str) -> None:
        seed(getattr(self, fault))
        result = run(write_spec, "purity")
        assert result.judgement.verdict == "violated"
        assert {name for name in GROUPS if largest(result, name)} == {group}
        assert largest(result, "changes") == largest(result, group)

    @pytest.fixture
    def modes(self) -> Iterator[list[TorchFunctionMode]]:
        """Modes that a fault left active, which end with the test."""
        left: list[TorchFunctionMode] = []
        yield left
        for mode in reversed(left):
            mode.__exit__(None, None, None)

    def test_a_mode_left_active(
        self, write_spec: Write, seed: Callable[[Fault], None], modes: list[TorchFunctionMode]
    ) -> None:
        seed(lambda model, inputs, scores: modes.append(KeepFloat64().__enter__()))
        assert largest(run(write_spec, "purity"), "globals") == 1

    def test_a_class_patched_once_and_for_all(
        self, write_spec: Write, seed: Callable[[Fault], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transformers.models.llama.modeling_llama import LlamaMLP

        original = LlamaMLP.forward

        def forward(self: Any, x: Tensor) -> Any:
            return original(self, x)

        seed(lambda model, inputs, scores: monkeypatch.setattr(LlamaMLP, "forward", forward))
        result = run(write_spec, "purity")
        assert (largest(result, "code"), largest(result, "changes")) == (2, 2), "the MLPs of two layers"

    def test_a_function_replaced_in_the_file_of_the_model(
        self, write_spec: Write, seed: Callable[[Fault], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from transformers.models.llama import modeling_llama

        original = modeling_llama.repeat_kv
        replaced = lambda *args: original(*args)  # noqa: E731
        seed(lambda model, inputs, scores: monkeypatch.setattr(modeling_llama, "repeat_kv", replaced))
        assert largest(run(write_spec, "purity"), "code") == 1

    def test_a_weight_that_was_set_to_zero_before(self, write_spec: Write, seed: Callable[[Fault], None]) -> None:
        """Another check ran the method first: it says so and puts the weight back, so that purity sees it too."""

        def zeroes(model: Model, inputs: Inputs, scores: Tensor) -> None:
            list(model.module.parameters())[-1].data.zero_()

        seed(zeroes)
        text = SPEC.format(axiom="batch_invariance", model="{architecture: bert}", method=METHOD, dtype="float64")
        text = text.replace("checks: [", "checks: [{axiom: precision}, {axiom: purity}, ")
        runner, checks = Runner(), expand_file(write_spec(text)).checks
        with pytest.raises(ModelChanged, match=r"weights \(classifier.bias\), which have been put back"):
            runner.run(checks[0])
        assert largest(runner.run(checks[1]), "weights") == 2, "the weight, and the outputs"

    def test_scores_that_differ_the_second_time(self, write_spec: Write, seed: Callable[[Fault], None]) -> None:
        calls: list[int] = []

        def counts(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
            calls.append(1)
            return scores * len(calls)

        seed(counts)
        result = run(write_spec, "purity")
        assert result.judgement.verdict == "violated"
        assert (largest(result, "changes"), largest(result, "relative_gap")) == (0, 0.5)


def tiny(architecture: str, backend: str = "eager") -> Any:
    return load_model("tiny", {"architecture": architecture, "backend": backend}, Path("specs/any.yaml")).module


class TestBackend:
    @pytest.mark.parametrize("name", [name for name, kind in ARCHITECTURES.items() if "sdpa" in kind.backends])
    def test_the_switch_is_real(self, name: str) -> None:
        """Switching the configuration switches what is called."""
        calls: list[str] = []

        class Watch(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                calls.append(getattr(func, "__name__", ""))
                return func(*args, **(kwargs or {}))

        module = tiny(name)
        given = {"input_ids": torch.tensor([[3, 4, 5]])}
        if name == "vit":
            given = {"pixel_values": torch.zeros(1, 3, 8, 8, dtype=torch.float64)}
        with torch.no_grad(), Watch():
            module(**given)
            assert "scaled_dot_product_attention" not in calls
            with other_attention(module):
                module(**given)
            assert "scaled_dot_product_attention" in calls
        assert module.config._attn_implementation == "eager"

    @pytest.mark.parametrize("backend", ["eager", "sdpa"])
    def test_the_implementation_is_restored_after_an_exception(self, backend: str) -> None:
        module = tiny("bert", backend)
        with suppress(ZeroDivisionError), other_attention(module):
            assert module.config._attn_implementation != backend
            raise ZeroDivisionError
        assert module.config._attn_implementation == backend

    def test_from_sdpa_to_eager(self, write_spec: Write, seed: Callable[[Fault], None]) -> None:
        model = "{architecture: llama, backend: sdpa}"
        assert run(write_spec, "backend_invariance", model).judgement.passed
        seed(reads_the_backend)
        assert not run(write_spec, "backend_invariance", model).judgement.passed

    @pytest.mark.parametrize("architecture", ["mpnet", "mamba"])
    def test_a_model_with_one_implementation(self, write_spec: Write, architecture: str) -> None:
        with pytest.raises(InputError, match="has no 'sdpa' attention to compare with 'eager'"):
            run(write_spec, "backend_invariance", f"{{architecture: {architecture}}}")

    def test_a_model_without_a_switch(self) -> None:
        with pytest.raises(InputError, match="needs a model with `set_attn_implementation`, and Linear has none"):
            other_attention(torch.nn.Linear(1, 1)).__enter__()

    def test_a_model_with_another_implementation(self) -> None:
        module = tiny("bert")
        module.config._attn_implementation = "flex_attention"
        with pytest.raises(InputError, match="runs 'flex_attention'"):
            other_attention(module).__enter__()


class TestPadding:
    def test_everything_per_token_grows(self) -> None:
        module = tiny("roberta")
        mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
        ids = torch.tensor([[5, 6, 7], [8, 9, 0]])
        inputs = read_inputs(module, {"input_ids": ids, "attention_mask": mask, "token_type_ids": mask, "use": 1})
        for side, original, new in (("right", slice(0, 3), slice(3, 5)), ("left", slice(2, 5), slice(0, 2))):
            longer = padded(module, inputs, 2, side)
            for name in ("input_ids", "attention_mask", "token_type_ids"):
                assert torch.equal(longer.fixed[name][:, original], inputs.fixed[name])
                assert not longer.fixed[name][:, new].any()
            assert longer.fixed["use"] == 1
            assert torch.equal(longer.features[:, original], inputs.features)
            assert longer.position is not None
            assert longer.position.tolist() == ([2, 1] if side == "right" else [4, 3])

    def test_left_padding_is_another_input_for_learned_positions(self, write_spec: Write) -> None:
        with pytest.raises(NotDefined, match="padding on the left is another input for this model"):
            run(write_spec, "{padding_invariance: {side: left}}", "{architecture: gpt2}")

    def test_without_tokens_or_mask(self) -> None:
        module = tiny("bert")
        for given in (torch.ones(1, 2), {"input_ids": torch.tensor([[3, 4]])}):
            with pytest.raises(InputError, match="needs `input_ids` with an `attention_mask`"):
                padded(module, read_inputs(module, given), 1, "right")

    def test_without_padding(self, write_spec: Write) -> None:
        with pytest.raises(InputError, match="at least one token of padding, not 0"):
            run(write_spec, "{padding_invariance: {by: 0}}")


class TestPrecision:
    def test_a_run_in_float32_is_compared_with_float64(self, write_spec: Write) -> None:
        result = run(write_spec, "precision", dtype="float32")
        assert result.judgement.passed
        assert 0 < largest(result, "relative_gap") < 1e-4

    def test_fewer_digits_show(self, write_spec: Write) -> None:
        gaps = [
            largest(run(write_spec, f"{{precision: {{dtype: {dtype}}}}}"), "relative_gap")
            for dtype in ("float32", "float16", "bfloat16")
        ]
        assert gaps == sorted(gaps)
        assert gaps[1] > 1e-4

    def test_the_model_itself_keeps_its_dtype_and_weights(self, write_spec: Write) -> None:
        axioms = "purity}, {axiom: {precision: {dtype: bfloat16}}}, {axiom: purity"
        text = SPEC.format(axiom=axioms, model="{architecture: bert}", method=METHOD, dtype="float64")
        runner = Runner()
        results = [runner.run(check) for check in sorted(expand_file(write_spec(text)).checks, key=lambda c: c.order)]
        assert [result.check.function for result in results] == ["purity", "precision", "purity"]
        assert (results[0].judgement.passed, results[2].judgement.passed) == (True, True)

    def test_amplification_is_the_same_size_in_every_dtype(self, write_spec: Write) -> None:
        """Rounding grows by 2^16 from float32 to bfloat16, what a method makes of it does not."""
        amplifications = [
            largest(run(write_spec, f"{{precision: {{dtype: {dtype}}}}}", method="attnlrp"), "amplification")
            for dtype in ("float32", "float16", "bfloat16")
        ]
        assert 0.1 < min(amplifications) <= max(amplifications) < 64


class TestZeros:
    """Behind a LayerNorm a gradient's sum over the width is zero but for rounding; a gap between such zeros is none."""

    @pytest.mark.parametrize("axiom", ["backend_invariance", "padding_invariance"])
    def test_rounding_is_no_gap(self, write_spec: Write, axiom: str) -> None:
        result = run(write_spec, axiom, "{architecture: bert}", "gradient")
        assert (result.judgement.verdict, largest(result, "relative_gap") < 1e-9) == ("holds", True)

    def test_a_thousandth_of_the_output_is_one(self, write_spec: Write, seed: Callable[[Fault], None]) -> None:
        def faint(model: Model, inputs: Inputs, scores: Tensor) -> Tensor:
            config: Any = model.module.config
            return torch.full_like(scores, 1e-6 if config._attn_implementation == "sdpa" else 0.0)

        seed(faint)
        assert run(write_spec, "backend_invariance").judgement.verdict == "violated"


def test_a_batch_of_one_shows_nothing(write_spec: Write) -> None:
    text = SPEC.format(axiom="batch_invariance", model="{architecture: bert}", method=METHOD, dtype="float64")
    for change in ("n: 1", "n: 3"):
        changed = text.replace("n: 3", change).replace("dtype: float64", "dtype: float64, batch_size: 1")
        (check,) = expand_file(write_spec(changed)).checks
        with pytest.raises(InputError, match="at least two examples"):
            Runner().run(check)


EVERY_METHOD = {name for name in METHODS if not name.startswith("_")} - {"random"}
"""Of this package: `random` is a control, and adapters are found by their prefix."""
ALL = {"loo", "gradient_x_input", "integrated_gradients", "attnlrp", "cp_lrp", "lrp_epsilon", "lrp_gamma", "mixture"}
"""Methods that exist for every model."""


EVERY_ONE = {"bert", "llama"}
"""Families on which the smoke tier tries every method; the others have three, and the rest in the full tier."""
FULL_TIER = {"loo_budget"}
"""Methods that the smoke tier has no time for: tests/methods/test_budget.py asks the same of BERT and Llama."""


@pytest.mark.parametrize("name", ["always.yaml", "full/always.yaml"])
def test_every_architecture_is_a_subject(root: Path, name: str) -> None:
    expanded = expand_file(root / "specs" / name)
    by_label: dict[str, list[Check]] = {}
    for check in expanded.checks:
        by_label.setdefault(check.label or "", []).append(check)
    assert set(by_label) == set(ARCHITECTURES) - (EVERY_ONE if "full" in name else set())
    for (label, checks), spec in zip(by_label.items(), expanded.specs, strict=True):
        assert spec.subject.model is not None
        assert spec.subject.model.options == {"architecture": label}
        wanted = {"batch_invariance", "precision", "purity"}
        wanted |= {"padding_invariance"} if label != "vit" else set()
        wanted |= {"backend_invariance"} if "sdpa" in ARCHITECTURES[label].backends else set()
        assert wanted <= {check.function for check in checks}
        refused = {(check.function, check.method.label) for check in checks if check.refusal and check.method}
        assert all(
            axiom in {"backend_invariance", "padding_invariance"} or method not in ALL for axiom, method in refused
        )
        has_every = "full" in name or label in EVERY_ONE
        every = EVERY_METHOD if "full" in name else EVERY_METHOD - FULL_TIER
        assert {method.name for method in spec.methods} == (every if has_every else {"loo", "attnlrp", "cp_lrp"})
        assert {check.tier for check in checks} == {"full" if "full" in name else "smoke"}
        assert checks[0].function == "purity", "before any other check runs the methods"
