"""For every axiom, a method that is off by one percent of its largest score is caught; a new axiom must say how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import axioms.properties  # noqa: F401  (registers them)
from axioms.core.registry import AXIOMS, METHODS, RULES
from axioms.engine.attribution import Swept
from axioms.engine.gradients import scale_gradient
from axioms.methods.estimates import difference
from axioms.methods.running import run_sweep
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Call = dict[str, Any]
"""What a method is called with: model, inputs, target and options."""


def share(scores: Tensor) -> Tensor:
    """One percent of the largest score of each example."""
    return 0.01 * scores.abs().amax(dim=1)


def of_features(scores: Tensor) -> Tensor:
    """Return one score for each feature: those of an embedding's numbers are summed."""
    return scores.flatten(2).sum(2) if scores.dim() > 2 else scores


def off(scores: Tensor, call: Call, where: Tensor | float = 1.0) -> Tensor:
    """Add the share to the first feature, or as much of it as `where` says."""
    faulty = scores.clone()
    faulty[:, 0] += share(scores) * where
    return faulty


def rounded(scores: Tensor, call: Call) -> Tensor:
    """Round to steps of two shares, so that no score moves by more than one."""
    step = 2 * share(scores)[:, None]
    return (scores / step).round() * step


def near(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call, (call["inputs"].features.flatten(1)[:, 0] % 1 != 0).to(scores))


def by_target(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call, call["target"].index.to(scores))


def by_model(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call, torch.tanh(call["target"](call["model"](call["inputs"]))).to(scores))


def on_the_right(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if call["model"].module.expression.__qualname__.startswith("product_right") else scores


def in_a_batch(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if len(scores) > 1 else scores


def of_long_texts(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if scores.shape[1] > 6 else scores


def with_sdpa(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if call["model"].module.config._attn_implementation == "sdpa" else scores


def in_float32(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if scores.dtype == torch.float32 else scores


def on_one_engine(scores: Tensor, call: Call) -> Tensor:
    return off(scores, call) if isinstance(call["engine"], dict) else scores


class EverySecondTime:
    """Off at the second call, the fourth, ..."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, scores: Tensor, call: Call) -> Tensor:
        self.calls += 1
        return scores if self.calls % 2 else off(scores, call)


Fault = Callable[[Tensor, Call], Tensor]
ABC = """
  model: {{expression: {{values: {values}, inputs: [a, b, c]}}}}
  data: {{points: [[1, 2, 3], [2, -1, 0.5]]}}
  target: 0"""
TWO = ABC.format(values='["a*b + tanh(c)", "gelu(a) - 2*b"]')
PRODUCT = ABC.format(values='"a*b*c"')
SUM = """
  model: {linear: {weight: [[3, -1, 2, 0.5], [3, -1, 2, 0.5]]}}
  data: {points: [[1, 1, 2, 4], [2, 5, -1, 1]]}
  target: 0"""
LAYERS = """
  model: {mlp: {weights: [[[2, -1], [1, 3]], [[1, -1], [0.5, 2]], [[1, 1]]], activation: none}}
  data: {points: [[1, 2], [-1, 0.5]]}
  target: 0"""
CLOSE = "{model: {linear: {weight: [[10, 10.05, 2, 0.5], [1, 1, 1, 1]]}}, data: {points: [[1, 1, 1, 1]]}, target: 0}"
"""One percent of the largest score swaps the two largest."""
PAIR = "{pair: {left: product-left, right: product-right}, data: {points: [[2, 3, 4], [1, -2, 0.5]]}}"
NET = "{model: relu-net, data: {random-points: {n: 4, features: 16}}, target: 0}"
BERT = "{model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 3, length: 6}}}"
SWEPT = "{model: {tiny: {architecture: modernbert}}, data: {random-tokens: {n: 4, length: 8}}}"
SENTENCES = "{model: agreement-llama, data: {agreement-sentences: {n: 20}}, target: {logit_difference: forms}}"


@dataclass(frozen=True)
class Case:
    """A subject, a method that keeps the axiom there, and the fault that must not pass."""

    subject: str
    method: str = "gradient_x_input"
    fault: Fault = off
    options: str = ""
    expect: str = ""
    """The bound, where the axiom has none of its own; a metric alone must be what it is without the fault."""


EXACT = "le: 1e-9"
CASES = {
    "linearity": Case(TWO),
    "antisymmetry": Case(TWO, "integrated_gradients"),
    "scale": Case(TWO, "cp_lrp"),
    "null_player": Case(ABC.format(values='"b*c + (a - a)"'), "attnlrp"),
    "sensitivity": Case(SUM, expect=f"relative_error.max: {{{EXACT}}}"),
    "symmetry": Case(ABC.format(values='"tanh(a + b)*c"'), "integrated_gradients"),
    "completeness": Case(PRODUCT, "integrated_gradients"),
    "path_antisymmetry": Case(PRODUCT, "integrated_gradients"),
    "target_sensitivity": Case(ABC.format(values='["a + b + c", "1.005*a + b + c"]'), "loo", rounded),
    "implementation_invariance": Case(PAIR, fault=on_the_right),
    "conservation": Case(PRODUCT, "integrated_gradients"),
    "known_answer": Case("{model: {known: and}, data: {points: [[1, 1, 1]]}}", "loo", options="of: loo"),
    "relevance": Case(PRODUCT, "loo", expect="scores: {equals: [[6, 6, 6], [-1, -1, -1]]}"),
    "sensitivity_n": Case(SUM, expect=f"relative_error.max: {{{EXACT}}}"),
    "faithfulness_correlation": Case(SUM, expect="pearson.min: {ge: 0.999999999}"),
    "infidelity": Case(SUM, expect=f"infidelity.max: {{{EXACT}}}"),
    "patching_correlation": Case(LAYERS, "atp", options="of: residual", expect=f"relative_gap.max: {{{EXACT}}}"),
    "loo_correlation": Case(SUM, expect=f"relative_gap.max: {{{EXACT}}}"),
    "lds": Case(CLOSE, expect="spearman.mean"),
    "comprehensiveness": Case(CLOSE, expect="comprehensiveness.mean"),
    "sufficiency": Case(CLOSE, expect="sufficiency.mean"),
    "normalized_aopc": Case(CLOSE, expect="normalized_aopc.mean"),
    "perturbation": Case(CLOSE, expect="delta.mean"),
    "insertion_deletion": Case(CLOSE, expect="deletion.mean"),
    "max_sensitivity": Case(SUM, "gradient", near, expect=f"relative.max: {{{EXACT}}}"),
    "local_lipschitz": Case(SUM, "gradient", near, expect=f"lipschitz.max: {{{EXACT}}}"),
    "relative_stability": Case(SUM, "gradient", near, expect=f"representation.max: {{{EXACT}}}"),
    "random_logit": Case(SUM, fault=by_target, expect="cosine.min: {ge: 0.999999999}"),
    "randomization": Case(NET, "random", by_model, expect="cosine.min: {ge: 0.999999999}"),
    "purity": Case(BERT, fault=EverySecondTime()),
    "batch_invariance": Case(BERT, fault=in_a_batch),
    "padding_invariance": Case(BERT, fault=of_long_texts),
    "backend_invariance": Case(BERT, fault=with_sdpa),
    "precision": Case(BERT, fault=in_float32),
    "engine_agreement": Case(BERT, "attnlrp", on_one_engine),
    "ledger": Case(BERT, "attnlrp"),
    "sink_share": Case(BERT, expect="relevance.max"),
    "ground_truth": Case(SENTENCES, fault=rounded, expect="rma.max"),
    "bypass_gain": Case(SWEPT, "attnlrp", expect="total_gain.max"),
    "bypass_perturbation": Case(SWEPT, "attnlrp", rounded, expect="total_gain.max"),
}
EXCEPTIONS = {
    "forward_equivalence": "looks at models and at no method",
    "task": "looks at a model and at no method",
    "chance": "is about scores that know nothing, and looks at no method",
    "cost": "is about a method's time, whatever its scores are",
    "attention_flatness": "ranks layers by the gain that `bypass_gain` measures; the flatness is the model's own",
}


def spec(name: str, case: Case, expect: str) -> str:
    axiom = f"{{{name}: {{{case.options}}}}}" if case.options else name
    bound = f", expect: {{{expect}}}" if expect else ""
    sweep = "sweep: {bypass: softmax, layers: [single]}\n" if case.subject == SWEPT else ""
    head = (
        f"claim: c\nsubject: {case.subject}\nrun: {{dtype: float64, batch_size: 8}}\nmethods: [{case.method}]\n{sweep}"
    )
    return f"{head}checks: [{{axiom: {axiom}{bound}}}]\n"


def run(write_spec: Callable[..., Path], name: str, case: Case, expect: str) -> Result:
    checks = expand_file(write_spec(spec(name, case, expect))).checks
    return Runner().run(next(check for check in checks if check.function == name))


def seed(monkeypatch: pytest.MonkeyPatch, name: str, case: Case) -> None:
    """Put the fault where the axiom takes relevance from: the method, its estimate of patches, the sweep, or a rule."""
    original = METHODS.get(case.method)

    def faulty(model: Any, inputs: Any, target: Any, **options: Any) -> Any:
        returned = original.function(model, inputs, target, **options)
        call = {"model": model, "inputs": inputs, "target": target, **options}
        if hasattr(returned, "scores"):
            return returned._replace(scores=case.fault(of_features(returned.scores), call))
        return case.fault(of_features(returned), call)

    def faulty_sweep(*args: Any, **options: Any) -> Swept:
        swept = run_sweep(*args, **options)
        every = {
            setting: replace(one, scores=case.fault(one.scores, {})) for setting, one in swept.attributions.items()
        }
        return replace(swept, attributions=every)

    def faulty_rule(operation: Any, **options: float) -> Tensor:
        return scale_gradient(rule.function(operation, **options), 1.01)

    def faulty_estimate(tap: Any, patch: Tensor) -> Tensor:
        return case.fault(difference(tap, patch), {})

    rule = RULES.get("identity")
    faulty = wraps(original.function)(faulty)  # with its options, and as much ours as it is
    if name == "ledger":
        monkeypatch.setitem(RULES._entries, "identity", replace(rule, function=faulty_rule))
    elif name == "patching_correlation":
        monkeypatch.setitem(METHODS._entries, case.method, replace(original, estimate=faulty_estimate))
    elif case.subject == SWEPT:
        monkeypatch.setattr("axioms.run.case.run_sweep", faulty_sweep)
    else:
        monkeypatch.setitem(METHODS._entries, case.method, replace(original, function=faulty))


@pytest.mark.parametrize("name", CASES)
def test_one_percent_is_caught(write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    case, expect = CASES[name], CASES[name].expect
    if expect and ":" not in expect:
        value = run(write_spec, name, case, f"{expect}: {{ge: -1e9}}").measurement.quantity(expect).value
        expect = f"{expect}: {{approx: {value!r}, abs: 1e-9}}"
    assert run(write_spec, name, case, expect).judgement.passed
    seed(monkeypatch, name, case)
    assert run(write_spec, name, case, expect).judgement.verdict == "violated"


def test_every_axiom_has_a_fault_or_a_reason() -> None:
    ours = {name for name in AXIOMS if AXIOMS.get(name).is_ours}
    assert {*CASES, *EXCEPTIONS} == ours
    assert not set(CASES) & set(EXCEPTIONS)
