"""Stability near an input and likeness of classes: by hand, and both ways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.properties.helpers.neighbours import neighbours
from axioms.properties.helpers.views import SideView
from axioms.run.runner import Result, Runner
from axioms.search.trial import TrialBench
from axioms.spec import expand_file
from axioms.subjects.built import ONLY, Side
from axioms.subjects.models.tiny import tiny

Write = Callable[..., Path]
SPEC = """claim: c
subject:
  model: {{linear: {{weight: [[2, -1, 4], [2, -1, 4], [-2, 1, -4]]}}}}
  data: {{points: [[1, 1, 2], [2, 5, -1]]}}
  target: 0
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: {axiom}
    expect: {{{metric}: {{{bound}}}}}
"""


def run(write_spec: Write, method: str, axiom: str, metric: str, bound: str) -> Result:
    text = SPEC.format(method=method, axiom=axiom, metric=metric, bound=bound)
    (check,) = expand_file(write_spec(text)).checks
    return Runner().run(check)


@pytest.fixture
def jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient with one percent of its largest score more where the first feature is no whole number."""
    original = METHODS.get("gradient")

    def faulty(model: Any, inputs: Any, target: Any) -> Tensor:
        scores: Tensor = original.function(model, inputs, target).clone()
        is_near = (inputs.features[:, 0] % 1 != 0).to(scores)
        scores[:, 0] += 0.01 * is_near * scores.abs().amax(dim=1)
        return scores

    faulty.__module__ = original.function.__module__
    monkeypatch.setitem(METHODS._entries, "gradient", dataclasses.replace(original, function=faulty))


STABLE = [
    ("max_sensitivity", "relative.max"),
    ("max_sensitivity", "absolute.max"),
    ("local_lipschitz", "lipschitz.max"),
    ("relative_stability", "input.max"),
    ("relative_stability", "representation.max"),
    ("relative_stability", "output.max"),
]


@pytest.mark.parametrize(("axiom", "metric"), STABLE)
def test_a_constant_map_is_stable(write_spec: Write, axiom: str, metric: str) -> None:
    assert run(write_spec, "gradient", axiom, metric, "le: 1e-9").judgement.passed


@pytest.mark.parametrize(("axiom", "metric"), STABLE)
@pytest.mark.usefixtures("jumps")
def test_a_jump_of_one_percent_is_caught(write_spec: Write, axiom: str, metric: str) -> None:
    assert run(write_spec, "gradient", axiom, metric, "le: 1e-9").judgement.verdict == "violated"


def test_the_relevance_of_a_sum_changes_by_its_weights(write_spec: Write) -> None:
    """R = (2 x1, -x2, 4 x3): between 1 and 4 times as fast as the input."""
    assert run(write_spec, "gradient_x_input", "local_lipschitz", "lipschitz.max", "between: [1, 4]").judgement.passed
    result = run(write_spec, "gradient_x_input", "max_sensitivity", "absolute.max", "gt: 0")
    assert 0 < float(str(result.measurement.quantity("absolute.max").value)) < 0.02 * (4 + 1 + 16) ** 0.5


def test_random_logit_by_hand(write_spec: Write) -> None:
    """Of three outputs f, f and -f the maps are the same or opposite, with whatever is drawn."""
    for metric in ("cosine", "spearman"):
        result = run(write_spec, "gradient_x_input", "random_logit", f"{metric}.max", "le: 1.000001")
        values = result.measurement.values[metric]
        assert all(abs(abs(value) - 1) < 1e-12 for value in values)


EACH = [(axiom, metric.removesuffix(".max")) for axiom, metric in STABLE]
TEXTS = """claim: c
subject: {{model: {{tiny: {{architecture: bert}}}}, data: {data}}}
run: {{dtype: float64}}
methods: [gradient_x_input]
checks: [{{axiom: {{{axiom}: {options}}}, expect: {{{metric}.max: {{ge: 0}}}}}}]
"""


def on_texts(
    write_spec: Write, axiom: str, metric: str, options: str, data: str = "{random-tokens: {n: 3, length: 6}}"
) -> np.ndarray:
    (check,) = expand_file(write_spec(TEXTS.format(axiom=axiom, metric=metric, options=options, data=data))).checks
    return np.asarray(Runner().run(check).measurement.values[metric])


@pytest.mark.parametrize(("axiom", "metric"), EACH)
def test_a_near_token_in_the_place_of_another(write_spec: Write, axiom: str, metric: str) -> None:
    """It moves the relevance, by the same for the same seed and differently for another."""
    first, again, other = (
        on_texts(write_spec, axiom, metric, f"{{by: tokens, samples: 2, nearest: 2, seed: {seed}}}")
        for seed in (0, 0, 1)
    )
    assert (first > 0).all()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_one_token_is_replaced_by_one_of_its_nearest() -> None:
    module = tiny(architecture="bert")
    ids = torch.tensor([[1, 5, 9, 3], [2, 4, 0, 0]])
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])})
    side = Side(ONLY, Model(module), inputs, batch_size=2)
    target = choose(0, side.outputs)
    view = SideView(side, target, TrialBench(METHODS.get("random"), side, target))
    table = module.get_input_embeddings().weight.detach()  # type: ignore[operator]
    places = set()
    for near in neighbours(view, by="tokens", nearest=2, samples=20, seed=0):
        changed = (near.inputs.fixed["input_ids"] != ids).nonzero()
        assert changed[:, 0].tolist() == [0, 1], "one token of each text"
        for row, place in changed.tolist():
            assert inputs.fixed["attention_mask"][row, place] == 1
            distance = (table - table[ids[row, place]]).norm(dim=1)
            assert near.inputs.fixed["input_ids"][row, place] in distance.argsort()[1:3]
            places.add((row, place))
        features = table[near.inputs.fixed["input_ids"]]
        torch.testing.assert_close(near.inputs.features, features)
    assert places == {(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)}


@pytest.mark.parametrize("by", ["noise", "tokens"])
@pytest.mark.parametrize(("axiom", "metric"), EACH)
def test_padding_moves_nothing(write_spec: Write, axiom: str, metric: str, by: str) -> None:
    """A text has the same number alone and beside a longer one, where it is padded."""
    options = f"{{samples: 2, by: {by}}}"
    alone = on_texts(write_spec, axiom, metric, options, "{tokens: {values: [[5, 6, 7]]}}")
    beside = on_texts(write_spec, axiom, metric, options, "{tokens: {values: [[5, 6, 7], [3, 8, 9, 4, 11, 7]]}}")
    np.testing.assert_allclose(alone[0], beside[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("axiom", "metric"),
    [
        ("{max_sensitivity: {radius: 0.0}}", "relative.max"),
        ("{local_lipschitz: {samples: 0}}", "lipschitz.max"),
        ("{local_lipschitz: {nearest: 0}}", "lipschitz.max"),
    ],
)
def test_a_neighbourhood_has_a_size(write_spec: Write, axiom: str, metric: str) -> None:
    with pytest.raises(InputError, match="radius above 0"):
        run(write_spec, "gradient", axiom, metric, "le: 1")


@pytest.mark.parametrize(
    ("axiom", "metric", "message"),
    [
        ("{local_lipschitz: {by: tokens}}", "lipschitz.max", "for texts given as `input_ids`"),
        ("{relative_stability: {layers: [wight]}}", "output.max", "no module 'wight'"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(write_spec: Write, axiom: str, metric: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(write_spec, "gradient", axiom, metric, "le: 1")
