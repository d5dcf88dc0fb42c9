"""What a card measures: the suite's own numbers, for any method, within its time, and nothing is lost."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from axioms.commands.card import measure as measuring
from axioms.commands.card.content import card_of, verdicts_of
from axioms.commands.card.deadline import Deadline, OutOfTime
from axioms.commands.card.measure import Measured, measure
from axioms.commands.card.parts import PARTS, Part, checks_of
from axioms.core.registry import METHODS, method
from axioms.run.cache import Cache
from axioms.spec.added import read_method

QUICK = (
    Part("scalar_product", ("implementation_invariance", "conservation")),
    Part("invariance_matrix_relu_net", ("implementation_invariance",)),
    Part("linear_network", ("loo_correlation",), is_compared=True, is_judged=False),
)


def measured_of(name: str, *against: str, parts: tuple[Part, ...] = QUICK, seconds: float = 300.0) -> Measured:
    others = [read_method(other) for other in against]
    return measure(
        read_method(name),
        others,
        deadline=Deadline(seconds),
        cache=Cache(),
        progress=lambda what, number, total: None,
        parts=parts,
    )


def test_its_numbers_are_those_of_the_baseline(root: Path) -> None:
    measured = measured_of("attnlrp", "gradient_x_input")
    baseline = json.loads((root / "reports" / "baseline.json").read_text())["checks"]
    compared = 0
    for check in measured.records:
        saved = baseline.get(check.id, {})  # gradient_x_input is added to specs that do not name it
        metrics = saved.get("metrics", saved)
        for metric, quantity in check.metrics.items():
            if metric in metrics and quantity.number is not None:
                assert quantity.number == pytest.approx(metrics[metric], abs=1e-6, rel=1e-5), check.id
                compared += 1
    assert compared >= 12
    verdicts = {verdict.axiom: verdict for verdict in verdicts_of(measured)}
    assert verdicts["implementation_invariance"].verdict == "violated"
    assert "(x1 x2) x3 against x1 (x2 x3): gap 0.50" in verdicts["implementation_invariance"].places
    assert verdicts["conservation"].verdict == "holds"
    assert "loo_correlation" not in verdicts, "a number is no verdict"


def test_the_parts_ask_about_any_method() -> None:
    given = [read_method("gradient_l1"), read_method("attnlrp")]
    for part in PARTS:
        labels = {
            check.function for check in checks_of(part, given) if check.method and check.method.label == "gradient_l1"
        }
        assert labels == set(part.axioms), part


def test_what_nobody_can_be_asked_is_left_out() -> None:
    part = Part("always", ("backend_invariance", "padding_invariance"), subjects=("mamba", "vit", "bert"))
    asked = {(check.function, check.label) for check in checks_of(part, [read_method("gradient_l1")])}
    assert asked == {("backend_invariance", "vit"), ("backend_invariance", "bert"), ("padding_invariance", "mamba")} | {
        ("padding_invariance", "bert")
    }


def test_options_that_were_given_are_those_that_are_measured() -> None:
    part = Part("linear_attention", ("loo_correlation",))
    (named,) = checks_of(part, [read_method("attnlrp")])
    assert named.method is not None
    assert named.method.options == {"epsilon": 1e-6}, "as the spec has it"
    (given,) = checks_of(part, [read_method("attnlrp: {epsilon: 0.25}")])
    assert given.method is not None
    assert given.method.options == {"epsilon": 0.25}


def test_the_budget_is_kept_inside_a_check_and_the_rest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    @method("sleeps")
    def sleeps(model: object, inputs: object, target: object) -> object:
        time.sleep(30)
        raise AssertionError("the time was over long ago")

    monkeypatch.setattr(measuring, "falsify", lambda *given, **options: None)
    started = time.monotonic()
    try:
        measured = measured_of("sleeps", "gradient_x_input", seconds=1.0)
        card = card_of(measured, read_method("sleeps"), "sleeps", "axioms card sleeps --minutes 10")
    finally:
        del METHODS._entries["sleeps"]
    assert time.monotonic() - started < 10
    assert not measured.records
    (gap,) = card.gaps
    assert gap.startswith("Not run, there was no time for it: scalar_product (implementation invariance): sleeps;")
    assert "linear_network (loo correlation): sleeps, gradient_x_input" in gap
    assert gap.endswith("To go on from here: axioms card sleeps --minutes 10")


def test_no_time_at_all() -> None:
    with pytest.raises(OutOfTime), Deadline(-1.0).kept():
        raise AssertionError("nothing may begin")


def test_an_interruption_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(what: str, number: int, total: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "falsify", lambda *given, **options: None)
    method = read_method("attnlrp")
    measured = measure(method, [], deadline=Deadline(60), cache=Cache(), progress=interrupt, parts=QUICK)
    assert measured.is_interrupted
    assert {check.axiom for check in measured.records} == {"implementation_invariance", "conservation"}
    assert {check.file.stem for check in measured.left_out} == {"invariance_matrix_relu_net", "linear_network"}


def test_axioms_of_rules_are_not_asked_of_others() -> None:
    measured = measured_of("gradient_x_input", parts=(Part("engines", ("engine_agreement", "ledger")),))
    assert not measured.failed
    card = card_of(measured, read_method("gradient_x_input"), "gradient_x_input", "")
    assert card.undefined == {"it is not made of rules": ["engine agreement on tiny BERT", "ledger on tiny BERT"]}


def test_a_method_that_fails_costs_only_its_own_numbers() -> None:
    @method("raises")
    def raises(model: object, inputs: object, target: object) -> object:
        raise ValueError("no such layer")

    try:
        measured = measured_of("raises", "gradient_x_input", parts=QUICK[2:])
        card = card_of(measured, read_method("raises"), "raises", "")
    finally:
        del METHODS._entries["raises"]
    assert [check.method for check in measured.records] == ["gradient_x_input"]
    (gap,) = card.gaps
    assert gap.startswith(
        "raises failed on falsify (implementation invariance and 1 more): method 'raises' raised Value"
    )
