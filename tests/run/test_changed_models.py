"""A method or an axiom that changes the model: it is named, the others are measured on the model as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import ModelChanged
from axioms.core.registry import AXIOMS, METHODS
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.run.cache import Cache
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file

SPEC = """
claim: Nothing is claimed.
subject:
  model: {tiny: {architecture: bert}}
  data: {random-tokens: {n: 3, length: 5}}
run: {dtype: float64, batch_size: 2}
methods: [gradient, METHODS]
checks: [{axiom: conservation, record: [ratio.mean]}]
"""
Fault = Callable[[nn.Module, Inputs], None]


def scale_a_weight(module: nn.Module, inputs: Inputs) -> None:
    next(module.parameters()).data.mul_(1.5)


def replace_a_weight(module: Any, inputs: Inputs) -> None:
    module.classifier.weight = nn.Parameter(module.classifier.weight * 2)


def replace_the_data_of_a_weight(module: Any, inputs: Inputs) -> None:
    module.classifier.weight.data = module.classifier.weight.data * 2


def replace_a_module(module: Any, inputs: Inputs) -> None:
    module.classifier = nn.Linear(16, 2).double()


def add_a_module(module: nn.Module, inputs: Inputs) -> None:
    module.add_module("mine", nn.Linear(2, 2))


def change_a_buffer(module: nn.Module, inputs: Inputs) -> None:
    next(module.buffers()).add_(1)


def leave_a_hook(module: Any, inputs: Inputs) -> None:
    module.classifier.register_forward_hook(lambda module, args, output: 2 * output)


def leave_a_backward_hook(module: Any, inputs: Inputs) -> None:
    module.classifier.register_full_backward_hook(lambda module, given, taken: (2 * given[0],))


def replace_forward(module: Any, inputs: Inputs) -> None:
    plain = module.classifier.forward
    module.classifier.forward = lambda features: 2 * plain(features)


def leave_training_mode_on(module: nn.Module, inputs: Inputs) -> None:
    module.train()


def leave_gradients_on(module: nn.Module, inputs: Inputs) -> None:
    module.requires_grad_(True)


def change_the_features(module: nn.Module, inputs: Inputs) -> None:
    inputs.features.mul_(2)


def change_the_mask(module: nn.Module, inputs: Inputs) -> None:
    inputs.fixed["attention_mask"][:, 0] = 0


def change_the_default_dtype(module: nn.Module, inputs: Inputs) -> None:
    torch.set_default_dtype(torch.float16)


def cast_the_model(module: nn.Module, inputs: Inputs) -> None:
    module.half()


FAULTS: dict[Fault, str] = {
    scale_a_weight: r"weights \(bert.embeddings.word_embeddings.weight\)",
    replace_a_weight: r"weights \(classifier\)",
    replace_the_data_of_a_weight: r"weights \(classifier.weight\)",
    replace_a_module: r"modules \(the model itself\)",
    add_a_module: r"modules \(the model itself\)",
    change_a_buffer: r"weights \(bert.embeddings.",
    leave_a_hook: r"hooks \(classifier\)",
    leave_a_backward_hook: r"hooks \(classifier\)",
    replace_forward: r"forward \(classifier\)",
    leave_training_mode_on: r"training mode \(the model itself and \d+ more\)",
    leave_gradients_on: r"requires_grad \(bert.embeddings.word_embeddings.weight and 40 more\)",
    change_the_features: r"inputs \(features\)",
    change_the_mask: r"inputs \(attention_mask\)",
    change_the_default_dtype: r"settings of torch \(default dtype\)",
    cast_the_model: r"weights \(bert.embeddings.word_embeddings.weight and 40 more\)",
}


@pytest.fixture(autouse=True)
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (METHODS, AXIOMS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def with_fault(fault: Fault) -> None:
    @axioms.method("changing")
    def changing(model: Model, inputs: Inputs, target: Any) -> Tensor:
        """Changes something on its way."""
        scores = inputs.features * 1.0
        fault(model.module, inputs)
        return scores


def ratios(runner: Runner, check: Check) -> list[float]:
    values: list[float] = runner.run(check).measurement.values["ratio"].tolist()
    return values


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_method_is_named_and_the_others_are_right(
    fault: Fault, write_spec: Callable[[str], Path], tmp_path: Path
) -> None:
    with_fault(fault)
    file = write_spec(SPEC.replace("METHODS", "loo, changing, gradient_x_input"))
    gradient, loo, changing, gradient_x_input = expand_file(file).checks
    clean = Runner()
    right = [ratios(clean, check) for check in (gradient, loo, gradient_x_input)]
    runner = Runner(cache=Cache(tmp_path / "cache"))
    assert ratios(runner, gradient) == right[0]
    with pytest.raises(ModelChanged, match=f"method 'changing' changed the model's {FAULTS[fault]}"):
        runner.run(changing)
    assert [ratios(runner, loo), ratios(runner, gradient_x_input)] == right[1:]
    assert torch.get_default_dtype() is torch.float32
    assert not list((tmp_path / "cache").rglob("*.measured")), "nothing of this subject is kept"
    later = Cache(tmp_path / "cache")
    assert ratios(Runner(cache=later), loo) == right[1]
    assert later.reused == 0


def test_the_model_is_rebuilt(write_spec: Callable[[str], Path]) -> None:
    """What cannot be put back is gone with the model: here, an attribute of a module."""

    def change_an_attribute(module: Any, inputs: Inputs) -> None:
        module.bert.encoder.layer[0].attention.self.scaling = 99.0
        scale_a_weight(module, inputs)

    with_fault(change_an_attribute)
    gradient, changing = expand_file(write_spec(SPEC.replace("METHODS", "changing"))).checks
    right = ratios(Runner(), gradient)
    runner = Runner()
    with pytest.raises(ModelChanged):
        runner.run(changing)
    assert ratios(runner, gradient) == right


def test_an_axiom_is_named_too(write_spec: Callable[[str], Path], tmp_path: Path) -> None:
    @axioms.axiom("meddling", metrics={"zero": axioms.Metric("nothing")})
    def meddling(side: Any) -> dict[str, Any]:
        """Changes a weight."""
        scale_a_weight(side.model.module, side.inputs)
        return {"zero": np.zeros(3)}

    text = SPEC.replace(", METHODS", "").replace("checks: [", "checks: [{axiom: meddling, record: [zero.max]}, ")
    first, gradient = expand_file(write_spec(text)).checks
    right = ratios(Runner(), gradient)
    runner = Runner(cache=Cache(tmp_path / "cache"))
    with pytest.raises(ModelChanged, match="axiom 'meddling' changed the model's weights"):
        runner.run(first)
    assert ratios(runner, gradient) == right


def test_a_method_that_changes_nothing_is_left_in_peace(write_spec: Callable[[str], Path]) -> None:
    def use_and_undo(module: Any, inputs: Inputs) -> None:
        handle = module.classifier.register_forward_hook(lambda module, args, output: None)
        module.train()
        module.eval()
        handle.remove()
        inputs.features.clone().mul_(2)

    with_fault(use_and_undo)
    _, changing = expand_file(write_spec(SPEC.replace("METHODS", "changing"))).checks
    assert Runner().run(changing).judgement.passed
