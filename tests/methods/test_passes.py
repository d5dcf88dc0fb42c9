"""The public call runs no forward pass beside the method's own, and explains what a plain pass would have chosen."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import axioms
from axioms.core.entries import Method
from axioms.core.registry import METHODS
from axioms.methods.running import run_method
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.subjects.models.tiny import tiny

IDS = torch.randint(3, 40, (5, 7), generator=torch.Generator().manual_seed(0))
TEXT = {"input_ids": IDS, "attention_mask": (torch.arange(7) < torch.tensor([[7], [5], [6], [7], [4]])).long()}


@pytest.fixture
def passes() -> tuple[Any, list[int]]:
    """A tiny Llama, and the rows of each of its forward passes."""
    model, rows = tiny(architecture="llama"), []
    model.register_forward_hook(lambda module, args, output: rows.append(len(output.logits)))
    return model, rows


@pytest.mark.parametrize(
    "method",
    "gradient gradient_x_input gradient_l2 attnlrp cp_lrp degree_lrp removal_taylor pa_lrp attention_rollout".split(),
)
def test_one_forward_pass(passes: tuple[Any, list[int]], method: str) -> None:
    model, rows = passes
    attribution = axioms.attribute(model, TEXT, method=method)
    assert rows == [5]
    _assert_predicted(model, attribution)


@pytest.mark.parametrize("method", ["integrated_gradients", "removal_grouped", "loo", "loo_adaptive", "random"])
@pytest.mark.parametrize("batch_size", [None, 2])
def test_what_is_explained_is_what_a_plain_pass_predicts(
    passes: tuple[Any, list[int]], method: str, batch_size: int | None
) -> None:
    """Also where the method's first passes are over other inputs, on which other classes are predicted."""
    model, _ = passes
    _assert_predicted(model, axioms.attribute(model, TEXT, method=method, batch_size=batch_size))


def _assert_predicted(model: Any, attribution: axioms.Attribution) -> None:
    with torch.no_grad():
        logits = model(**TEXT).logits[torch.arange(5), TEXT["attention_mask"].sum(dim=1) - 1]
    torch.testing.assert_close(attribution.output, logits.amax(dim=1), rtol=1e-5, atol=1e-5)  # its norms are float32


def test_integrated_gradients_settles_its_target_before_the_path(passes: tuple[Any, list[int]]) -> None:
    model, rows = passes
    axioms.attribute(model, TEXT, method="integrated_gradients", steps=3)
    assert rows == [5] * 5  # the inputs, the baseline, and the path


def test_a_method_that_settles_nothing_gets_the_target_of_a_plain_pass(passes: tuple[Any, list[int]]) -> None:
    """A user's method that looks at other inputs first: the class is that of the inputs as they are."""
    model, rows = passes

    def halved(model: Any, inputs: Any, target: Any) -> Tensor:
        with torch.no_grad():
            return inputs.features.sum(-1) * target(model(inputs.with_features(inputs.features / -2))).unsqueeze(1)

    METHODS.add(Method("halved", halved, passes=None))
    try:
        attribution = axioms.attribute(model, TEXT, method="halved")
    finally:
        METHODS._entries.pop("halved")
    assert rows == [5, 5]
    _assert_predicted(model, attribution)


@pytest.mark.parametrize(("method", "count"), [("attnlrp", 1), ("random", 1)])
def test_the_output_of_a_known_target_costs_no_pass_of_its_own(
    passes: tuple[Any, list[int]], method: str, count: int
) -> None:
    """`random` runs no pass itself, so that one is needed to know the output."""
    module, rows = passes
    model, inputs, target = Model(module), read_inputs(module, TEXT), Target(torch.tensor([3, 1, 4, 1, 5]))
    attribution = run_method(METHODS.get(method), model, inputs, target, None, batch_size=5, options={})
    assert rows == [5] * count
    with torch.no_grad():
        torch.testing.assert_close(attribution.output, target(model(inputs)), rtol=1e-5, atol=1e-5)


def test_a_target_per_example_is_cut_up_with_the_batches(passes: tuple[Any, list[int]]) -> None:
    model, _ = passes
    target = torch.tensor([3, 1, 4, 1, 5])
    together = axioms.attribute(model, TEXT, target=target, method="attnlrp")
    parts = axioms.attribute(model, TEXT, target=target, method="attnlrp", batch_size=2)
    torch.testing.assert_close(parts.scores, together.scores)
    torch.testing.assert_close(parts.output, together.output)


@pytest.mark.parametrize(
    ("chunk", "removals"), [(1, 7 + 5 + 6 + 7 + 4), (2, 4 + 3 + 3 + 4 + 2), (3, 3 + 2 + 2 + 3 + 2)]
)
def test_leave_one_out_runs_each_chunk_of_each_text_once(chunk: int, removals: int) -> None:
    """Padding is no token to leave out, and a chunk goes as a whole. One more row may be a trial of the model."""
    model, rows = tiny(architecture="bert"), list[int]()
    model.register_forward_hook(lambda module, args, output: rows.append(len(output.logits)))
    axioms.attribute(model, TEXT, method="loo", remove={"kind": "attention_mask", "chunk": chunk})
    assert sum(rows) - 5 - removals in (0, 1)
