"""Perturbation, insertion and deletion against a loop of one example and one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from axioms.core.entries import Method
from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.engine.attribution import Attribution
from axioms.model import packing
from axioms.model.module import Model
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import GRID, ranks, stops
from axioms.properties.insertion_deletion import insertion_deletion
from axioms.properties.loo_correlation import loo_correlation
from axioms.properties.perturbation import perturbation
from axioms.run.address import Address
from axioms.run.in_process import InProcess
from axioms.run.records import record
from axioms.run.runner import Result, Runner
from axioms.run.source import build_subject
from axioms.spec import expand_file
from axioms.subjects.built import BuiltSubject

Write = Callable[..., Path]

SPEC = """claim: c
subject:
  model: {{tiny: {{architecture: {architecture}}}}}
  data: {{tokens: [[5, 6, 7, 8, 9, 10, 11], [12, 13, 14], [15, 16, 17, 18, 19], [20]]}}
  target: {target}
  remove: {remove}
run: {{dtype: float64, batch_size: 3}}
methods: [loo, gradient, random]
checks:
  - axiom: {{perturbation: {options}}}
    methods: [{method}]
    {perturbation}
  - axiom: {{insertion_deletion: {options}}}
    methods: [{method}]
    {insertion}
"""
RECORD = {"perturbation": "record: [delta.mean]", "insertion": "record: [difference.mean]"}
DEFAULTS = {"architecture": "bert", "target": "predicted", "remove": "attention_mask", "options": "{}"}


def spec(write_spec: Write, method: str = "random", **given: str) -> Path:
    return write_spec(SPEC.format(**{**RECORD, **DEFAULTS, **given, "method": method}))


def results(file: Path, runner: Runner | None = None) -> dict[str, Result]:
    runner = runner or Runner()
    return {check.function: runner.run(check) for check in expand_file(file).checks}


def built(file: Path) -> BuiltSubject:
    check = expand_file(file).checks[0]
    return build_subject(check.subject, check.run, check.file)


def by_hand(subject: BuiltSubject, example: int, scores: list[float], chunk: int, step: int) -> dict[str, Any]:
    """The four curves of one example, one forward pass a step, on the model's own inputs."""
    side, target = subject.sides["model"], subject.target.rows(example, example + 1)
    inputs = side.inputs.rows(example, example + 1)
    length = int((inputs.fixed["attention_mask"] != 0).sum())
    chunks = [list(range(start, min(start + chunk, length))) for start in range(0, length, chunk)]
    worth = [sum(scores[token] for token in chunk) for chunk in chunks]
    lowest_first = sorted(range(len(chunks)), key=lambda unit: worth[unit])
    highest_first = sorted(range(len(chunks)), key=lambda unit: -worth[unit])
    walk: dict[str, Any] = {"share": [0.0]}
    for way, order in (("most", highest_first), ("least", lowest_first)):
        values, probabilities = [], []
        for gone in [0, *stops(len(chunks), step)]:
            removed = torch.zeros(inputs.features.shape[:2], dtype=torch.bool)
            for unit in order[:gone]:
                removed[0, chunks[unit]] = True
            with torch.no_grad(), side.model.at_rest():
                outputs = side.model(inputs.without(removed))
            values.append(target(outputs).item())
            probabilities.append(outputs.softmax(1)[0, target.index[0]].item())
        walk |= {way: values, f"{way}_probability": probabilities}
    walk["share"] = [gone / len(chunks) for gone in [0, *stops(len(chunks), step)]]
    return walk


@pytest.mark.parametrize(
    ("given", "chunk", "step"),
    [
        ({}, 1, 1),
        ({"options": "{step: 2}"}, 1, 2),
        ({"options": "{chunk: 3}"}, 3, 1),
        ({"remove": "{kind: delete, chunk: 2}", "architecture": "llama"}, 2, 1),
        ({"remove": "{kind: mean_embedding, chunk: 2}", "options": "{chunk: 1}"}, 1, 1),
        ({"target": "{probability: 1}"}, 1, 1),
        ({"target": "{logit_difference: [0, 2]}", "architecture": "gpt2"}, 1, 1),
    ],
)
def test_against_one_example_and_one_step_at_a_time(
    write_spec: Write, given: dict[str, str], chunk: int, step: int
) -> None:
    file = spec(write_spec, **given)
    by_name, subject = results(file), built(file)
    inputs = subject.sides["model"].inputs
    scores = METHODS.get("random").function(None, inputs, None).tolist()
    removal, insertion = by_name["perturbation"].measurement.values, by_name["insertion_deletion"].measurement.values
    for example in range(4):
        wanted = by_hand(subject, example, scores[example], chunk, step)
        morf, lerf = np.mean(wanted["most"][1:]), np.mean(wanted["least"][1:])
        areas = {"morf": morf, "lerf": lerf, "delta": lerf - morf, "aopc": wanted["most"][0] - morf}
        for name, value in areas.items():
            assert removal[name][example] == pytest.approx(value, abs=1e-9)
        for name, way in (("morf_curve", "most"), ("lerf_curve", "least")):
            curve = np.interp(GRID, wanted["share"], wanted[way])
            np.testing.assert_allclose(removal[name][example], curve, atol=1e-9)
        deletion = sum(
            (b - a) * (wanted["most_probability"][k] + wanted["most_probability"][k + 1]) / 2
            for k, (a, b) in enumerate(zip(wanted["share"], wanted["share"][1:], strict=False))
        )
        inserted = [1 - share for share in reversed(wanted["share"])]
        probabilities = list(reversed(wanted["least_probability"]))
        area = sum(
            (inserted[k + 1] - inserted[k]) * (probabilities[k] + probabilities[k + 1]) / 2
            for k in range(len(inserted) - 1)
        )
        assert insertion["deletion"][example] == pytest.approx(deletion, abs=1e-9)
        assert insertion["insertion"][example] == pytest.approx(area, abs=1e-9)
        assert insertion["difference"][example] == pytest.approx(area - deletion, abs=1e-9)
        curve = np.interp(GRID, inserted, probabilities)
        np.testing.assert_allclose(insertion["insertion_curve"][example], curve, atol=1e-9)


def test_both_axioms_share_the_walk_and_the_same_question_is_put_once(
    write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, questions = spec(write_spec), []
    original = Model.__call__

    def counting(model: Model, inputs: Any) -> Any:
        questions.append(len(inputs))
        return original(model, inputs)

    runner = Runner()
    checks = expand_file(file).checks
    assert isinstance(runner.executor, InProcess)
    case = runner.executor.worker.cases.case(Address(checks[0].subject, checks[0].run, file), 0)
    case.view(checks[0].method, "model").bench.attribution()
    monkeypatch.setattr(Model, "__call__", counting)
    monkeypatch.setattr(packing, "WORTHWHILE", 1000)  # nothing is tried twice to see whether texts can be closed up
    for check in checks:
        runner.run(check)
    # Each text of n tokens: n - 1 questions each way and one with nothing left; of one token that one alone.
    assert sum(questions) <= sum(2 * (n - 1) + 1 for n in (7, 3, 5, 1))


LINEAR = """claim: c
subject:
  model: {{linear: {{weight: [[3, -1, 0.5], [0, 0, 0]]}}}}
  data: {{points: [[1, 1, 1], [2, 5, -1]]}}
  target: 0
run: {{dtype: float64}}
methods: [{method}]
checks:
  - {{axiom: perturbation, expect: {{delta.min: {{gt: 0}}}}}}
  - {{axiom: insertion_deletion, expect: {{difference.min: {{gt: 0}}}}}}
"""


def test_loo_keeps_both_axioms_and_its_reverse_breaks_them(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a linear map the order of leave-one-out is the best there is, and the other way round the worst."""
    by_name = results(write_spec(LINEAR.format(method="loo")))
    assert all(result.judgement.passed for result in by_name.values())

    def reverse(model, inputs, target):  # type: ignore[no-untyped-def]
        return -METHODS.get("loo").function(model, inputs, target)

    reverse.__qualname__ = METHODS.get("gradient").function.__qualname__
    monkeypatch.setitem(METHODS._entries, "gradient", Method("gradient", reverse))
    broken = results(write_spec(LINEAR.format(method="gradient")))
    assert not any(result.judgement.passed for result in broken.values())


def test_curves_are_in_the_record_one_for_each_example_and_their_mean(write_spec: Write) -> None:
    file = spec(write_spec, perturbation="record: [delta.mean, morf_curve]")
    saved = record(results(file)["perturbation"], "a::b")
    assert np.array(saved.values["morf_curve"]).shape == (4, 21)
    mean = np.array(saved.values["morf_curve"]).mean(axis=0)
    np.testing.assert_allclose(np.array(saved.metrics["morf_curve"].value), mean)
    np.testing.assert_allclose(saved.curves["morf_curve"].mean, mean)


def test_a_text_of_special_tokens_alone_is_left_out(write_spec: Write) -> None:
    subject = built(spec(write_spec))

    side = subject.sides["model"]
    candidates = side.inputs.candidates
    assert candidates is not None
    candidates = candidates.clone()
    candidates[1] = False
    side = replace(side, inputs=replace(side.inputs, candidates=candidates))

    scores = METHODS.get("random").function(None, side.inputs, None)
    output = subject.target(side.outputs)

    attribution = Attribution(scores, output, output, "random")
    bench: Any = SimpleNamespace(
        attribution=lambda: attribution,
        reference=lambda: attribution,
        remember=lambda what, compute: compute(),
        progress=lambda done, total: None,
    )
    view = SideView(side, subject.target, bench)
    for values in (perturbation(view)["delta"], insertion_deletion(view)["insertion"]):
        assert np.ma.getmaskarray(values).tolist() == [False, True, False, False]
    correlated = loo_correlation(view)
    assert correlated["undefined"].tolist() == [0, 1, 0, 1]
    assert np.ma.getmaskarray(correlated["pearson"]).tolist() == [False, True, False, True]
    np.testing.assert_allclose(correlated["pearson"].compressed(), 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "what"), [("{step: 0}", "step of at least 1"), ("{chunk: 0}", "at least one token")]
)
def test_options_that_make_no_sense(write_spec: Write, options: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        results(spec(write_spec, options=options))


def test_scores_that_are_no_numbers_have_no_order(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(model, inputs, target):  # type: ignore[no-untyped-def]
        return inputs.features * float("nan")

    broken.__module__ = "axioms.methods.gradient"  # of a user's method it is an error with a sentence of its own
    monkeypatch.setitem(METHODS._entries, "gradient", Method("gradient", broken))
    with pytest.raises(InputError, match="no order"):
        results(spec(write_spec, "gradient"))


def test_a_probability_needs_two_outputs(write_spec: Write) -> None:
    text = """claim: c
subject: {model: product-left, data: {points: [[1, 2, 3]]}}
methods: [random]
checks: [{axiom: insertion_deletion, record: [difference.mean]}]
"""
    with pytest.raises(InputError, match="at least two outputs"):
        results(write_spec(text))


@pytest.mark.parametrize(
    ("count", "step", "wanted"), [(3, 1, [1, 2, 3]), (3, 2, [2, 3]), (3, 5, [3]), (4, 2, [2, 4]), (0, 1, [])]
)
def test_the_last_step_removes_the_rest(count: int, step: int, wanted: list[int]) -> None:
    assert stops(count, step) == wanted


def test_progress_counts_examples(write_spec: Write) -> None:
    seen: list[tuple[str, int, int]] = []
    results(spec(write_spec, "loo"), Runner(report=lambda what, done, total: seen.append((what, done, total))))
    assert {total for _, _, total in seen} == {4}
    assert [done for _, done, _ in seen][-1] == 4


def test_equal_scores_keep_their_order() -> None:
    """Also where there are so many that a sort would take another way."""
    scores = np.repeat([[2.0, 1.0, 2.0]], 100, axis=1).reshape(1, -1)
    counted = np.ones(scores.shape, dtype=bool)
    counted[0, 7] = False
    found = ranks(scores, counted)[0]
    wanted = sorted(range(300), key=lambda place: (place == 7, scores[0, place], place))
    assert np.argsort(found).tolist() == wanted
