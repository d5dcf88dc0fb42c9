"""The sink's share of relevance against its share of leave-one-out, by a plain loop over tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import axioms
from axioms.core.errors import NotDefined
from axioms.core.registry import METHODS
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.properties.sink_share import attention_received, sink_share
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.subjects.models.tiny import tiny
from tests.properties.sides import Three, make_side

SPEC = """claim: c
subject:
  model: {{tiny: {{architecture: {architecture}}}}}
  data: {{tokens: [[5, 9, 12, 30, 7, 8, 22], [11, 4, 17, 33, 6]]}}
  target: 1
  remove: attention_mask
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: {axiom}{rest}}}]
"""
IDS = [[5, 9, 12, 30, 7, 8, 22], [11, 4, 17, 33, 6]]
RECORD = ", record: [relevance.mean, loo.mean, excess.mean, attention.mean, first.mean]"


def run(
    write_spec: Callable[..., Path],
    *,
    architecture: str = "bert",
    method: str = "gradient_x_input",
    axiom: str = "sink_share",
    rest: str = RECORD,
) -> Result:
    text = SPEC.format(architecture=architecture, method=method, axiom=axiom, rest=rest)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


def received(architecture: str, ids: list[int], is_causal: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Each token's share of the attention that is paid, from what transformers gives out: layers x tokens."""
    model = tiny(architecture=architecture)
    with torch.no_grad():
        attentions = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    rows = []
    for layer in attentions:
        heads = []
        for head in layer[0].double().numpy():
            total = np.zeros(len(ids))
            for query in range(1 if is_causal else 0, len(ids)):  # the first of a causal model sees itself alone
                total += head[query]
            heads.append(total / total.sum())
        rows.append(np.mean(heads, axis=0))
    return np.array(rows)


@pytest.mark.parametrize(("architecture", "is_causal"), [("bert", False), ("gpt2", True)])
def test_shares_are_those_of_the_token_that_receives_most_attention(
    write_spec: Callable[..., Path], architecture: str, is_causal: bool
) -> None:
    values = run(write_spec, architecture=architecture).measurement.values
    model = tiny(architecture=architecture)
    for example, ids in enumerate(IDS):
        given = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        scores, loo = (
            axioms.attribute(model, given, 1, method, remove="attention_mask").scores[0].abs().numpy()
            for method in ("gradient_x_input", "loo")
        )
        layers = received(architecture, ids, is_causal)
        sink = int(layers.mean(axis=0).argmax())
        wanted = {
            "relevance": scores[sink] / scores.sum(),
            "loo": loo[sink] / loo.sum(),
            "attention": layers.mean(axis=0)[sink],
            "first": float(sink == 0),
        }
        wanted["excess"] = wanted["relevance"] - wanted["loo"]
        wanted["gap"] = abs(wanted["excess"])
        for name, number in wanted.items():
            assert values[name][example] == pytest.approx(number, abs=1e-6), name
        np.testing.assert_allclose(values["attention_by_layer"][example], layers[:, sink], atol=1e-6)


def test_the_first_token_may_be_stated_instead(write_spec: Callable[..., Path]) -> None:
    values = run(write_spec, axiom="{sink_share: {sink: first}}").measurement.values
    assert values["first"].tolist() == [1, 1]
    for example, ids in enumerate(IDS):
        np.testing.assert_allclose(values["attention"][example], received("bert", ids, False)[:, 0].mean(), atol=1e-6)


def test_leave_one_out_keeps_it_and_a_method_that_follows_the_sink_does_not(
    write_spec: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(write_spec, method="loo", rest="").judgement.verdict == "holds"
    original = METHODS.get("loo").function

    def led_astray(model: Any, inputs: Any, target: Any, **options: Any) -> Tensor:
        scores: Tensor = original(model, inputs, target, **options).clone()
        rows = torch.arange(len(scores))
        sinks = [int(received("bert", ids, False).mean(axis=0).argmax()) for ids in IDS]
        scores[rows, torch.tensor(sinks)[: len(scores)]] += scores.abs().sum(dim=1)
        return scores

    faulty = type(METHODS.get("loo"))("led_astray", led_astray)
    monkeypatch.setitem(METHODS._entries, "led_astray", faulty)
    assert run(write_spec, method="led_astray", rest="").judgement.verdict == "violated"


def test_a_model_without_attention_has_no_sink(write_spec: Callable[..., Path]) -> None:
    text = SPEC.format(architecture="bert", method="loo", axiom="sink_share", rest=RECORD)
    head, _, tail = text.partition("  model:")
    text = head + "  model: {linear: {weight: [[3, 1]]}}\n  data: {points: [[1, 1]]}\n" + tail[tail.index("run:") :]
    (check,) = expand_file(write_spec(text)).checks
    with pytest.raises(NotDefined, match="saw none"):
        Runner().run(check)


@pytest.mark.parametrize("size", [1, 2])
def test_attention_is_received_by_every_example_whatever_the_batch(size: int) -> None:
    module, ids = tiny(architecture="bert"), torch.randint(3, 40, (3, 5), generator=torch.Generator().manual_seed(0))
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    views: list[Any] = [SimpleNamespace(inputs=inputs, model=Model(module), batch_size=n) for n in (size, 3)]
    some, whole = (attention_received(view) for view in views)
    np.testing.assert_allclose(some, whole)
    np.testing.assert_allclose(whole.sum(axis=2), 1.0)


def test_an_example_without_candidates_has_no_sink_and_is_left_out() -> None:
    shares = np.array([[[0.1, 0.2, 0.6, 0.1], [0.5, 0.1, 0.2, 0.2]], [[0.25] * 4] * 2])
    candidates = torch.tensor([[False, True, True, True], [False] * 4])
    inputs = Inputs(torch.ones(2, 4, dtype=torch.float64), candidates=candidates)
    side, bench = make_side(Three(), inputs)
    bench.known["attention received"] = shares
    found = sink_share(side)
    for name, values in found.items():
        mask = np.ma.getmaskarray(values)
        assert not mask[0].any(), name
        assert mask[1].all(), name
    assert found["attention"][0] == pytest.approx(0.4)
    assert found["attention_by_layer"][0].tolist() == [0.6, 0.2]
    assert found["first"][0] == 0
