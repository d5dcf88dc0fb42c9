"""Randomizing a model layer by layer: what notices, what does not, and that the model itself stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.properties.randomization import layers_of, randomize
from axioms.run.runner import Result, Runner
from axioms.spec import expand_file
from axioms.subjects.models.small import relu_net

Write = Callable[..., Path]
SPEC = """claim: c
subject: {{model: {model}, data: {{random-points: {{n: 6, features: 16}}}}, target: 0}}
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: {{randomization: {{order: {order}}}}}, expect: {{cosine.min: {{lt: 0.999}}}}}}]
"""


def run(write_spec: Write, method: str, order: str = "cascading", model: str = "relu-net") -> Result:
    (check,) = expand_file(write_spec(SPEC.format(method=method, order=order, model=model))).checks
    return Runner().run(check)


@pytest.mark.parametrize("order", ["cascading", "independent"])
def test_what_reads_the_model_notices_and_what_does_not_is_caught(write_spec: Write, order: str) -> None:
    assert run(write_spec, "gradient_x_input", order).judgement.passed
    result = run(write_spec, "random", order)
    assert result.judgement.verdict == "violated"
    assert result.measurement.values["cosine_by_layer"].shape == (6, len(layers_of(relu_net())))
    assert abs(result.measurement.values["cosine_by_layer"] - 1).max() < 1e-12


def test_one_percent_that_the_model_gives_shows(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of which one percent of the largest score is the model's has no longer a cosine of one."""
    original = METHODS.get("random")

    def nearly_constant(model: Any, inputs: Any, target: Any, *, seed: int = 0) -> Tensor:
        scores: Tensor = original.function(model, inputs, target, seed=seed)
        of_model = torch.tanh(target(model(inputs)))
        scores[:, 0] += 0.01 * scores.abs().amax(dim=1) * of_model
        return scores

    monkeypatch.setitem(METHODS._entries, "random", replace(original, function=nearly_constant))
    cosines = run(write_spec, "random").measurement.values["cosine_by_layer"]
    assert cosines.min() < 1 - 1e-8


def test_only_a_copy_is_randomized() -> None:
    model = relu_net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    names = layers_of(model)
    assert names[0] == "11", "the layer next to the output comes first"
    randomize(model.get_submodule("11"), 0)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"11.weight", "11.bias"}


def test_without_parameters_it_says_so(write_spec: Write) -> None:
    with pytest.raises(InputError, match="has none"):
        run(write_spec, "loo", model="{known: and}")
