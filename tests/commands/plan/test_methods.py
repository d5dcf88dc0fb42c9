"""What a plan counts is what runs: rows of forward passes and ways back, for every registered method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from axioms.commands.plan.loads import Load
from axioms.commands.plan.methods import METHOD_COSTS, cost_of_method, cost_of_sweep
from axioms.commands.plan.sizes import Size, size_of
from axioms.core.errors import AxiomsError
from axioms.core.registry import METHODS
from axioms.core.sweeps import KINDS
from axioms.methods.running import run_method, run_sweep
from axioms.model.inputs import Inputs, read_inputs
from axioms.model.module import Model
from axioms.model.targets import choose
from axioms.spec import MethodRef
from axioms.subjects.models.tiny import tiny

BATCH, LENGTH, LAYERS = 4, 12, 2
OURS = sorted(name for name in METHODS if METHODS.get(name).is_ours)
OPTIONS: dict[str, dict[str, Any]] = {
    "lrp": {"rules": [{"on": "softmax", "rule": "stop"}]},
    "integrated_gradients": {"steps": 5},
    "block_lrp": {"nodes": 6},
}
INSIDE = ("block_lrp",)
"""Methods that run parts of the model by themselves."""


@contextmanager
def counted(module: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, float]]:
    """Count passes of one example of the whole length, and ways back over the batch."""
    seen = {"forward": 0.0, "calls": 0.0, "backward": 0.0}
    grad = torch.autograd.grad
    embedding = module.get_input_embeddings()  # type: ignore[operator]

    def count(part: torch.nn.Module, args: Any, output: torch.Tensor) -> None:
        seen["forward"] += output.shape[0] * output.shape[1] / LENGTH
        seen["calls"] += 1

    def count_back(*args: Any, **kwargs: Any) -> Any:
        seen["backward"] += BATCH
        return grad(*args, **kwargs)

    # Every pass embeds its tokens first, though the embeddings are then replaced: a suffix embeds only itself.
    handle = embedding.register_forward_hook(count)
    monkeypatch.setattr(torch.autograd, "grad", count_back)
    try:
        yield seen
    finally:
        handle.remove()
        monkeypatch.undo()


@pytest.fixture(params=["bert", "llama"])
def subject(request: pytest.FixtureRequest) -> tuple[Model, Inputs, Size]:
    """A tiny model with texts of one length, and its size."""
    module = tiny(architecture=request.param)
    ids = torch.randint(3, 40, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))
    inputs = read_inputs(module, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return Model(module), inputs, size_of(Model(module), inputs, examples=BATCH, batch_size=BATCH)


def total(loads: list[Load]) -> dict[str, float]:
    return {name: sum(getattr(load, name) for load in loads) for name in ("forward", "calls", "backward")}


@pytest.mark.parametrize("method", OURS)
def test_every_method(subject: tuple[Model, Inputs, Size], method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs, size = subject
    options = OPTIONS.get(method, {})
    with torch.no_grad(), model.at_rest():
        target = choose("predicted", model(inputs))
    try:
        with counted(model.module, monkeypatch) as seen:
            run_method(
                METHODS.get(method), model, inputs, target, torch.zeros(BATCH), batch_size=BATCH, options=options
            )
    except AxiomsError as error:
        pytest.skip(f"{method} is not defined here: {error}")
    loads, assumed = cost_of_method(MethodRef.model_validate({method: options} if options else method), size)
    assert not assumed
    planned = total([load for load in loads if not (method in INSIDE and load.engine == "plain")])
    if (
        method in ("loo", "loo_adaptive", "loo_budget") and size.is_causal
    ):  # rows with near starts go together, and one is tried whole
        assert planned["forward"] == pytest.approx(seen["forward"], rel=0.35)
        return
    tried = 1 if "loo" in method else 0  # a few tokens of one text, to see which maps are read at one token alone
    assert planned["forward"] == pytest.approx(seen["forward"], abs=tried)
    assert planned["calls"] == pytest.approx(seen["calls"], abs=tried)
    apart = BATCH if tried or method in ("alti_logit", *INSIDE) else 0
    assert planned["backward"] == pytest.approx(seen["backward"], abs=apart)


def test_every_method_is_in_the_table() -> None:
    assert set(OURS) == set(METHOD_COSTS)


def test_a_sweep_shares_what_lies_above_the_first_difference(
    subject: tuple[Model, Inputs, Size], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs, size = subject
    with torch.no_grad(), model.at_rest():
        target = choose("predicted", model(inputs))
    with counted(model.module, monkeypatch) as seen:
        entry = METHODS.get("attnlrp")
        run_sweep(entry, model, inputs, target, torch.zeros(BATCH), KINDS, batch_size=BATCH, options={})
    planned = total(cost_of_sweep(size, KINDS))
    assert planned["forward"] == seen["forward"]
    # What is counted are stretches of the way back: one for each layer, beside the head above and the input below.
    assert planned["backward"] * LAYERS <= seen["backward"] <= planned["backward"] * (LAYERS + 2) + 2 * BATCH
