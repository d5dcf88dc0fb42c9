"""The axioms that look at a sweep over layers, against plain loops, scipy and the model's own attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

import axioms
from axioms.core.errors import InputError, SpecError
from axioms.core.values import Values
from axioms.engine.handlers import switch
from axioms.model import probe
from axioms.report.tables import beside_paper, numbers
from axioms.run.records import record
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.subjects.data import random_tokens
from axioms.subjects.models.language import LanguageModel
from axioms.subjects.models.tiny import tiny

Write = Callable[..., Path]

SPEC = """claim: c
subject:
  model: {{tiny: {{architecture: {architecture}, backend: {backend}}}}}
  data: {{random-tokens: {{n: 4, length: 8}}}}
  remove: {remove}
run: {{dtype: float64, batch_size: 3}}
methods: [attnlrp]
sweep: {{bypass: softmax, layers: {layers}}}
checks:
  - axiom: {axiom}
    record: {record}
"""
ALL = "[single, front_to_back, back_to_front]"


def run(
    write_spec: Write,
    axiom: str,
    record: str,
    *,
    architecture: str = "modernbert",
    backend: str = "eager",
    layers: str = ALL,
    remove: str = "attention_mask",
) -> Result:
    text = SPEC.format(
        axiom=axiom, record=record, architecture=architecture, backend=backend, layers=layers, remove=remove
    )
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


def loo_r(architecture: str, bypassed: list[int], *, divided: bool = False) -> Values:
    """Pearson's r of one setting by its own, by scipy, over the tokens of each text without its padding."""
    module, inputs = tiny(architecture=architecture), dict(random_tokens(n=4, length=8).inputs)
    bypass = {"softmax": bypassed} if bypassed else None
    scores = axioms.attribute(module, inputs, method="attnlrp", bypass=bypass).scores
    loo = axioms.attribute(module, inputs, method="loo").scores
    there = inputs["attention_mask"] != 0
    rows = [(left[counted], right[counted]) for left, right, counted in zip(scores, loo, there, strict=True)]
    if divided:
        rows = [(left / left.sum(), right / right.sum()) for left, right in rows]
    return np.array([scipy.stats.pearsonr(left, right)[0] for left, right in rows])


def test_bypass_gain_is_what_each_setting_gains_on_its_own(write_spec: Write) -> None:
    measured = run(write_spec, "bypass_gain", "[total_gain.mean]").measurement.values
    none, every = loo_r("modernbert", []), loo_r("modernbert", [1, 2, 3])
    single = np.stack([loo_r("modernbert", [layer]) for layer in (1, 2, 3)], axis=1)
    front = np.stack([single[:, 0], loo_r("modernbert", [1, 2]), every], axis=1)
    back = np.stack([every, loo_r("modernbert", [2, 3]), single[:, 2]], axis=1)
    expected = {
        "none": none,
        "all": every,
        "total_gain": every - none,
        "single": single,
        "front_to_back": front,
        "back_to_front": back,
        "single_gain": single - none[:, None],
        "late_minus_early": single[:, 2] - single[:, 0],  # of three layers, the middle one is in neither half
    }
    settings = {
        "single": ([1], [2], [3]),
        "front_to_back": ([1], [1, 2], [1, 2, 3]),
        "back_to_front": ([1, 2, 3], [2, 3], [3]),
    }
    for kind, layers in settings.items():
        divided = np.stack([loo_r("modernbert", bypassed, divided=True) for bypassed in layers], axis=1)
        expected[f"{kind}_sum_normalized"] = divided
        expected[f"{kind}_sign_flipped"] = (np.sign(divided) != np.sign(expected[kind])).astype(float)
    assert set(expected) == set(measured)
    for name, values in expected.items():
        np.testing.assert_allclose(measured[name], values, rtol=0, atol=1e-10, err_msg=name)


def test_bypass_gain_notices_a_switch_that_ignores_a_layer(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    original = switch._Product.backward

    def deaf(ctx: Any, *gradients: Any) -> Any:
        bypassed, ctx.switch.bypassed = ctx.switch.bypassed, ctx.switch.bypassed - {2}
        try:
            return original(ctx, *gradients)
        finally:
            ctx.switch.bypassed = bypassed

    monkeypatch.setattr(switch._Product, "backward", staticmethod(deaf))
    single = run(write_spec, "bypass_gain", "[single]").measurement.values["single"]
    right = np.stack([loo_r("modernbert", [layer]) for layer in (1, 2, 3)], axis=1)
    gap = np.abs(single - right).max(axis=0)
    assert gap[1] > 1e-4
    assert gap[[0, 2]].max() < 1e-10


def test_bypass_gain_is_judged_both_ways(write_spec: Write) -> None:
    gain = loo_r("bert", [1, 2]) - loo_r("bert", [])
    text = SPEC.format(
        axiom="bypass_gain",
        architecture="bert",
        backend="eager",
        layers=ALL,
        record="[single]",
        remove="attention_mask",
    )
    for bound, passes in ((f"{{gt: {gain.min() - 0.01}}}", True), (f"{{gt: {gain.max() + 0.01}}}", False)):
        check = expand_file(write_spec(text + f"    expect: {{total_gain.mean: {bound}}}\n")).checks[0]
        assert Runner().run(check).judgement.passed is passes


def test_bypass_perturbation_is_perturbation_under_each_setting(write_spec: Write) -> None:
    measurement = run(
        write_spec, "{bypass_perturbation: {step: 2}}", "[total_gain.mean]", architecture="bert"
    ).measurement
    methods = """
  - attnlrp
  - attnlrp: {as: one, bypass: {softmax: [1]}}
  - attnlrp: {as: two, bypass: {softmax: [2]}}
  - attnlrp: {as: both, bypass: {softmax: [1, 2]}}
"""
    text = SPEC.format(
        axiom="{perturbation: {step: 2}}",
        architecture="bert",
        backend="eager",
        layers=ALL,
        record="[delta.mean]",
        remove="attention_mask",
    )
    text = text.replace("methods: [attnlrp]\n", f"methods:{methods}").replace(
        "sweep: {bypass: softmax, layers: [single, front_to_back, back_to_front]}\n", ""
    )
    runner = Runner()
    alone = {check.id: runner.run(check).measurement.values for check in expand_file(write_spec(text)).checks}
    for area in ("delta", "lerf", "morf"):
        first, second, both = (alone[label][area] for label in ("one", "two", "both"))
        for kind, columns in {
            "single": (first, second),
            "front_to_back": (first, both),
            "back_to_front": (both, second),
        }.items():
            np.testing.assert_allclose(measurement.values[f"{kind}_{area}"], np.stack(columns, axis=1), atol=1e-10)
    np.testing.assert_allclose(measurement.values["total_gain"], alone["both"]["delta"] - alone["attnlrp"]["delta"])
    gain = alone["two"]["delta"] - alone["one"]["delta"]
    np.testing.assert_allclose(measurement.values["late_minus_early"], gain, atol=1e-10)


def test_bypass_perturbation_asks_no_question_twice(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that rank the tokens alike share their forward passes."""
    questions: list[tuple[int, ...]] = []

    def counting(model: Any, inputs: Any, targets: Any, example: Any, removed: Any, **rest: Any) -> Any:
        rows = zip(example.tolist(), removed.int().tolist(), strict=True)
        questions.extend((number, *row) for number, row in rows)
        return original(model, inputs, targets, example, removed, **rest)

    original = probe.probe
    monkeypatch.setattr(probe, "probe", counting)
    run(write_spec, "bypass_perturbation", "[total_gain.mean]", architecture="bert")
    assert len(questions) == len(set(questions)) > 0


def entropies_by_scipy(architecture: str, causal: bool) -> Values:
    """examples x layers, from what the model itself says it attends to, row by row."""
    module, inputs = tiny(architecture=architecture), dict(random_tokens(n=4, length=8).inputs)
    with torch.no_grad():
        attentions = module(**inputs, output_attentions=True).attentions
    lengths = inputs["attention_mask"].sum(dim=1).tolist()
    table = np.zeros((4, len(attentions)))
    for layer, weights in enumerate(attentions):
        for example, length in enumerate(lengths):
            rows = [
                scipy.stats.entropy(weights[example, head, query, : (query + 1 if causal else length)])
                / np.log(query + 1 if causal else length)
                for head in range(weights.shape[1])
                for query in range(1 if causal else 0, length)
            ]
            table[example, layer] = np.mean(rows)
    return table


@pytest.mark.parametrize(("architecture", "causal"), [("bert", False), ("gpt2", True)])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_flatness_is_the_entropy_over_what_a_query_may_see(
    write_spec: Write, architecture: str, causal: bool, backend: str
) -> None:
    measurement = run(
        write_spec, "attention_flatness", "[entropy]", architecture=architecture, backend=backend
    ).measurement
    expected = entropies_by_scipy(architecture, causal)
    np.testing.assert_allclose(measurement.values["entropy"], expected, atol=1e-9)
    gain = np.stack([loo_r(architecture, [layer]) for layer in (1, 2)], axis=1) - loo_r(architecture, [])[:, None]
    np.testing.assert_allclose(measurement.values["single_gain"], gain, atol=1e-9)
    over_layers = scipy.stats.spearmanr(expected.mean(axis=0), gain.mean(axis=0))[0]
    assert float(measurement.values["rank_correlation"]) == pytest.approx(over_layers)
    by_example = [scipy.stats.spearmanr(*rows)[0] for rows in zip(expected, gain, strict=True)]
    np.testing.assert_allclose(measurement.values["rank_correlation_by_example"], by_example)


def test_flatness_counts_no_more_keys_than_a_local_layer_sees(write_spec: Write) -> None:
    """ModernBERT attends locally in two layers of three: what a query cannot see makes its attention no sharper."""
    module = tiny(architecture="modernbert")
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "Wqkv" in name:
                parameter[: 2 * 16] = 0  # queries and keys, so that all logits are equal
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("axioms.run.models.load_model", lambda *_: LanguageModel(module))
        entropy = run(write_spec, "attention_flatness", "[entropy]", remove="zero").measurement.values["entropy"]
    np.testing.assert_allclose(entropy, 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("axiom: bypass_gain", "axiom: loo_correlation"),
            "no check looks at it; add one with the axiom 'bypass_gain'",
        ),
        (("methods: [attnlrp]", "methods: [attnlrp, loo]"), "'loo' has no softmax to bypass"),
        (("[attnlrp]", "[{attnlrp: {bypass: {softmax: [1]}}}]"), "a sweep sets `bypass` itself"),
        (("[single, front_to_back, back_to_front]", "[front_to_back]"), "'late_minus_early.mean' needs 'single'"),
        (("[single, front_to_back, back_to_front]", "[singly]"), "sweep.layers"),
        (("[single, front_to_back, back_to_front]", "[]"), "sweep.layers"),
        (("bypass: softmax", "bypass: norms"), "sweep.bypass"),
    ],
)
def test_a_wrong_sweep_is_named_with_its_line(write_spec: Write, change: tuple[str, str], said: str) -> None:
    text = SPEC.format(
        axiom="bypass_gain",
        architecture="bert",
        backend="eager",
        layers=ALL,
        record="[late_minus_early.mean]",
        remove="attention_mask",
    )
    if "loo_correlation" in change[1]:
        text = text.replace("late_minus_early.mean", "pearson.mean")
    with pytest.raises(SpecError, match=said.replace("[", r"\[")):
        expand_file(write_spec(text.replace(*change)))


def test_flatness_without_single_settings_says_what_it_needs(write_spec: Write) -> None:
    with pytest.raises(InputError, match="add 'single' to the sweep"):
        run(write_spec, "attention_flatness", "[entropy]", architecture="bert", layers="[front_to_back]")


def test_layers_that_are_not_swept_are_empty(write_spec: Write) -> None:
    values = run(write_spec, "bypass_gain", "[single]", architecture="bert", layers="[single]").measurement.values
    assert values["front_to_back"].shape == values["back_to_front"].shape == (4, 0)
    assert values["single"].shape == (4, 2)


def test_results_keep_every_example_of_every_setting_and_the_papers_lists(write_spec: Write) -> None:
    text = SPEC.format(
        axiom="bypass_gain",
        architecture="bert",
        backend="eager",
        layers=ALL,
        record="[single]",
        remove="attention_mask",
    )
    text += "reported:\n  attnlrp: {bypass_gain.single: [0.22, 0.23], bypass_gain.total_gain: 0.3}\n"
    result = Runner().run(expand_file(write_spec(text)).checks[0])
    saved = record(result, "specs/mine.yaml::bypass_gain[attnlrp]")
    assert np.array(saved.values["back_to_front"]).shape == (4, 2)
    assert saved.metrics["single"].value == pytest.approx(result.measurement.values["single"].mean(axis=0))
    assert saved.reported == {"single": [0.22, 0.23], "total_gain.mean": 0.3}
    rows = beside_paper([saved])[1]
    assert [row[-1] for row in rows] == ["[0.22, 0.23]", "0.3000"]
    assert "paper [0.22, 0.23]" in numbers([saved])[1][0][1]
    for wrong, said in (("single: 0.2", "is a list; write"), ("total_gain: [0.2]", "one number")):
        with pytest.raises(SpecError, match=said):
            expand_file(write_spec(text.split("reported")[0] + f"reported: {{attnlrp: {{bypass_gain.{wrong}}}}}\n"))
