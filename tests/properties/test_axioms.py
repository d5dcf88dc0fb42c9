"""Every axiom both ways: a method that keeps it passes, a seeded fault in that method fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from axioms.core.entries import Method
from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file

Write = Callable[..., Path]

SPEC = """claim: c
subject:
  pair: {{left: product-left, right: product-right}}
  data: {{points: [[2, 3, 4], [1, -2, 0.5], [3, 1, 1]]}}
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: {axiom}
    expect: {expect}
"""


def run(write_spec: Write, method: str, axiom: str, expect: str) -> Result:
    checks = expand_file(write_spec(SPEC.format(method=method, axiom=axiom, expect=expect))).checks
    return Runner().run(next(check for check in checks if check.function == axiom.strip("{").split(":")[0]))


@pytest.fixture
def off_by_one_percent(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Seed a fault: one feature's score is one percent off, on the right side only where there are sides."""

    def seed(name: str) -> None:
        original = METHODS.get(name)

        def faulty(model, inputs, target, **options):  # type: ignore[no-untyped-def]
            returned = original.function(model, inputs, target, **options)
            scores = returned.scores if hasattr(returned, "scores") else returned
            code = getattr(model.module, "expression", None)
            if code is None or code.__qualname__.startswith("product_right"):
                scores[:, 0] *= 1.01
            return returned

        faulty.__qualname__ = original.function.__qualname__
        monkeypatch.setitem(METHODS._entries, name, Method(name, faulty))

    return seed


@pytest.mark.parametrize(
    ("method", "axiom", "expect"),
    [
        ("gradient_x_input", "implementation_invariance", "{relative_gap.max: {le: 1e-9}}"),
        ("integrated_gradients", "conservation", "{relative_error.max: {le: 1e-9}}"),
        ("loo", "relevance", "{scores: {equals: [[24, 24, 24], [-1, -1, -1], [3, 3, 3]]}}"),
    ],
)
def test_kept_and_broken(
    write_spec: Write, off_by_one_percent: Callable[[str], None], method: str, axiom: str, expect: str
) -> None:
    assert run(write_spec, method, axiom, expect).judgement.passed
    off_by_one_percent(method)
    assert not run(write_spec, method, axiom, expect).judgement.passed


ATTENTION = """claim: c
subject:
  model: {softmax-attention: {query: 1.0, key: 2.0, value: 3.0}}
  data:
    points:
      [[1, -1, 2], [0.5, 0.25, -1], [1, 2, 3], [2, 1, -3], [-1, 2, 0.5], [3, 1, 2], [0.25, 2, -2], [1, -2, 0.5]]
run: {dtype: float64}
methods: [integrated_gradients, loo, gradient, random]
checks:
  - axiom: loo_correlation
    expect: {pearson.min: {ge: 0.999999}}
    methods: [loo]
  - axiom: perturbation
    expect: {delta.min: {gt: 0}}
    methods: [loo]
compare:
  - {metric: loo_correlation.pearson, better: loo, than: random}
"""


def results(write_spec: Write, text: str) -> dict[str, Result]:
    runner = Runner()
    return {f"{check.function}[{check.id}]": runner.run(check) for check in expand_file(write_spec(text)).checks}


def test_loo_correlation_perturbation_and_comparison(write_spec: Write) -> None:
    assert all(result.judgement.passed for result in results(write_spec, ATTENTION).values())


def test_a_reversed_method_fails_all_three(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    original = METHODS.get("gradient").function

    def reversed_loo(model, inputs, target):  # type: ignore[no-untyped-def]
        return -METHODS.get("loo").function(model, inputs, target)

    reversed_loo.__qualname__ = original.__qualname__
    monkeypatch.setitem(METHODS._entries, "gradient", Method("gradient", reversed_loo))
    text = ATTENTION.replace("methods: [loo]", "methods: [gradient]").replace("better: loo", "better: gradient")
    by_name = results(write_spec, text)
    assert by_name["loo_correlation[gradient]"].judgement.verdict == "violated"
    assert not any(result.judgement.passed for result in by_name.values())


def test_perturbation_curves_by_hand(write_spec: Write) -> None:
    """f = 3 x1 - x2 at (1, 1): most relevant first leaves -1, then 0; least relevant first leaves 3, then 0."""
    text = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1]]}}
run: {dtype: float64}
methods: [loo]
checks: [{axiom: perturbation, record: [morf.mean, lerf.mean, delta.mean, aopc.mean]}]
"""
    measurement = results(write_spec, text)["perturbation[loo]"].measurement
    means = {name: measurement.quantity(f"{name}.mean").value for name in ("morf", "lerf", "delta", "aopc")}
    assert means == {"morf": -0.5, "lerf": 1.5, "delta": 2.0, "aopc": 2.5}


def test_perturbation_needs_a_step(write_spec: Write) -> None:
    with pytest.raises(InputError, match="step of at least 1"):
        results(write_spec, ATTENTION.replace("axiom: perturbation", "axiom: {perturbation: {step: 0}}"))


def test_a_pair_that_is_not_one_function_is_inconclusive(write_spec: Write) -> None:
    text = SPEC.format(method="loo", axiom="implementation_invariance", expect="{relative_gap.max: {le: 1e9}}")
    text = text.replace("right: product-right", "right: {linear: {weight: [[1, 1, 1]]}}")
    by_name = results(write_spec, text)
    assert by_name["forward_equivalence[pair]"].judgement.verdict == "violated"
    judgement = by_name["implementation_invariance[loo]"].judgement
    assert (judgement.verdict, judgement.passed) == ("inconclusive", False)
    assert "not the same function" in judgement.reason


def test_not_a_number_is_inconclusive(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(model, inputs, target):  # type: ignore[no-untyped-def]
        return inputs.features * float("nan")

    broken.__module__ = "axioms.methods.gradient"  # of a user's method it is an error with a sentence of its own
    monkeypatch.setitem(METHODS._entries, "gradient", Method("gradient", broken))
    result = run(write_spec, "gradient", "implementation_invariance", "{relative_gap.max: {le: 1}}")
    assert (result.judgement.verdict, result.judgement.passed) == ("inconclusive", False)
    assert "not finite" in result.judgement.reason
