"""Randomizing a model layer by layer: what notices, what does not, and that the model itself stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.properties.helpers.layers import layers_of, randomize
from axioms.properties.randomization import complexity
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


@pytest.mark.parametrize("order", ["cascading", "bottom_up", "independent"])
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


def test_the_orders_meet_where_all_layers_are_random(write_spec: Write) -> None:
    """From above and from below the same random layers are put in; one at a time the entropy still is of all."""
    above, below, alone = (
        run(write_spec, "gradient_x_input", order) for order in ("cascading", "bottom_up", "independent")
    )
    for metric in ("spearman", "cosine", "complexity_rise"):
        np.testing.assert_array_equal(above.measurement.values[metric], below.measurement.values[metric])
    np.testing.assert_array_equal(
        above.measurement.values["complexity_rise"], alone.measurement.values["complexity_rise"]
    )
    assert (
        above.measurement.values["cosine_by_layer"][:, 0] != below.measurement.values["cosine_by_layer"][:, 0]
    ).all()


def test_smooth_maps_are_means_over_noisy_inputs(write_spec: Write) -> None:
    plain, one, many = (
        run(write_spec, "gradient", order) for order in ("cascading", "cascading, smooth: 1", "cascading, smooth: 5")
    )
    np.testing.assert_array_equal(plain.measurement.values["cosine"], one.measurement.values["cosine"])
    assert (plain.measurement.values["cosine"] != many.measurement.values["cosine"]).any()


def test_complexity_by_hand() -> None:
    """Four numbers in two bins, two and two: log 2; three in one and one in the other; a place that does not count."""
    scores = np.array([[0.0, 0.1, 0.9, 1.0], [0.0, 0.1, 0.2, 1.0], [0.0, 1.0, 7.0, 9.0]])
    counted = np.array([[True] * 4, [True] * 4, [True, True, False, False]])
    expected = [np.log(2), -0.75 * np.log(0.75) - 0.25 * np.log(0.25), np.log(2)]
    np.testing.assert_allclose(complexity(scores, counted, 2), expected)


@pytest.mark.parametrize("options", ["smooth: 0", "noise: 0.0", "bins: 1"])
def test_what_cannot_be_is_a_sentence(write_spec: Write, options: str) -> None:
    with pytest.raises(InputError, match="at least"):
        run(write_spec, "gradient", f"cascading, {options}")


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
