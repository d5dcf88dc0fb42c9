"""A method or an axiom that changes the model: it is named, the others are measured on the model as it was."""

from __future__ import annotations

import sys
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
from axioms.model import weights
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.run.cache import Cache
from axioms.run.runner import Runner
from axioms.spec import Check, expand_file
from axioms.subjects.models.tiny import ARCHITECTURES, tiny

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


def set_an_attribute(module: Any, inputs: Inputs) -> None:
    module.bert.encoder.layer[0].attention.self.scaling = 99.0


def hide_a_method(module: Any, inputs: Inputs) -> None:
    plain = module.bert.encoder.layer[0].feed_forward_chunk
    module.bert.encoder.layer[0].feed_forward_chunk = lambda hidden: 2 * plain(hidden)


def change_the_class_of_a_module(module: Any, inputs: Inputs) -> None:
    module.classifier.__class__ = type("Doubled", (nn.Linear,), {"forward": lambda self, x: 2 * self.weight.sum() * x})


def change_the_config(module: Any, inputs: Inputs) -> None:
    module.config.chunk_size_feed_forward = 1
    module.config.id2label[0] = "mine"


def change_the_attention(module: Any, inputs: Inputs) -> None:
    module.config._attn_implementation = "sdpa"


def patch_the_class(module: Any, inputs: Inputs) -> None:
    kind: Any = nn.Linear
    plain = kind.forward
    kind.forward = lambda self, features: 2 * plain(self, features)


def patch_by_a_new_method(module: Any, inputs: Inputs) -> None:
    kind: Any = type(module.bert.encoder.layer[0])
    kind.__call__ = lambda self, hidden, *args, **options: 2 * hidden


def patch_a_function(module: Any, inputs: Inputs) -> None:
    file: Any = sys.modules[type(module).__module__]
    plain = file.eager_attention_forward
    file.eager_attention_forward = lambda *args, **options: (2 * plain(*args, **options)[0], None)


def patch_torch(module: Any, inputs: Inputs) -> None:
    plain = nn.functional.layer_norm
    nn.functional.layer_norm = lambda *args, **options: 2 * plain(*args, **options)


def register_other_attention(module: Any, inputs: Inputs) -> None:
    attention: Any = sys.modules[type(module).__module__]
    attention.ALL_ATTENTION_FUNCTIONS.register("sdpa", lambda *args, **options: 1 / 0)


def leave_a_hook_on_all_modules(module: Any, inputs: Inputs) -> None:
    nn.modules.module.register_module_forward_hook(lambda module, args, output: None)


def change_the_position(module: Any, inputs: Inputs) -> None:
    assert inputs.position is not None
    inputs.position.zero_()


def change_the_candidates(module: Any, inputs: Inputs) -> None:
    assert inputs.candidates is not None
    inputs.candidates[:, 1] = ~inputs.candidates[:, 1]


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
    set_an_attribute: r"attributes \(bert.encoder.layer.0.attention.self.scaling\)",
    hide_a_method: r"attributes \(bert.encoder.layer.0.feed_forward_chunk\)",
    change_the_class_of_a_module: r"attributes \(classifier.__class__\)",
    change_the_config: r"config \(.*and 1 more\)",
    change_the_attention: r"config \(_attn_implementation",
    patch_the_class: r"code \(torch.nn.modules.linear.Linear.forward\)",
    patch_by_a_new_method: r"code \(transformers.models.bert.modeling_bert.BertLayer.__call__\)",
    patch_a_function: r"code \(transformers.models.bert.modeling_bert.eager_attention_forward\)",
    patch_torch: r"code \(torch.nn.functional.layer_norm\)",
    register_other_attention: r"code \(transformers.models.bert.modeling_bert.ALL_ATTENTION_FUNCTIONS\['sdpa'\]\)",
    leave_a_hook_on_all_modules: r"hooks \(of all modules\)",
    change_the_position: r"inputs \(position\)",
    change_the_candidates: r"inputs \(candidates\)",
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
    """What cannot be put back is gone with the model."""
    modules = []

    def keep_and_scale(module: nn.Module, inputs: Inputs) -> None:
        modules.append(module)
        scale_a_weight(module, inputs)

    with_fault(keep_and_scale)

    @axioms.method("second")
    def second(model: Model, inputs: Inputs, target: Any) -> Tensor:
        """Remembers which model it was given."""
        modules.append(model.module)
        return inputs.features * 1.0

    changing, later = expand_file(write_spec(SPEC.replace("gradient, METHODS", "changing, second"))).checks
    runner = Runner()
    with pytest.raises(ModelChanged):
        runner.run(changing)
    runner.run(later)
    assert modules[0] is not modules[-1]


def test_a_model_that_counts_its_calls_is_the_models_own_affair(write_spec: Callable[[str], Path]) -> None:
    """What calling the model changes is put back, and no method is blamed for it."""

    class Counting(nn.Module):
        calls, of_class = 0, 0
        passes: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.seen: list[int] = []
            self.register_buffer("passes", torch.zeros(1, dtype=torch.float64))

        def forward(self, features: Tensor) -> Tensor:
            self.calls += 1
            self.seen.append(len(features))
            self.passes.add_(1)
            Counting.of_class += 1
            return features.sum(dim=1, keepdim=True)

    counting = Counting().eval()
    scores = axioms.attribute(counting, torch.ones(3, 2, dtype=torch.float64), 0, calls_only("calling")).scores
    assert scores.shape == (3, 2)
    assert "calls" not in vars(counting)
    assert (counting.seen, counting.passes.item(), Counting.of_class) == ([], 0, 0)


def calls_only(name: str) -> str:
    @axioms.method(name)
    def calling(model: Model, inputs: Inputs, target: Any) -> Tensor:
        """Calls the model, also for its hidden states, and asks for gradients."""
        features = inputs.features.detach().requires_grad_()
        target(model(inputs.with_features(features))).sum().backward()
        if hasattr(model.module, "config"):
            model.module(**inputs.fixed, output_hidden_states=True, output_attentions=True)
            model.module(input_ids=torch.ones(1, 20, dtype=torch.int64))
        assert features.grad is not None
        return features.grad

    return name


@pytest.mark.parametrize("family", sorted(set(ARCHITECTURES) - {"vit"}))
def test_who_only_calls_a_model_changes_nothing(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does what transformers makes when it is first needed, whatever the family and the kind of attention."""
    found = []
    monkeypatch.setattr(weights, "_changes_of", lambda call, before: found.append(call))
    calls_only("calling")
    for backend in ARCHITECTURES[family].backends:
        module: Any = tiny(architecture=family, backend=backend)  # type: ignore[arg-type]
        axioms.attribute(module, {"input_ids": torch.tensor([[5, 6, 7, 8]])}, 0, "calling")
    assert not found, "nothing had changed, so the model needs no call to say that it changes by itself"


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
