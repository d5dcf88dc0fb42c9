"""A constant that moves between the input and the first layer: who feels it, both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from axioms.core.errors import InputError, NotApplicable
from axioms.core.registry import METHODS, rewrites_of_all
from axioms.model.inputs import Inputs, read_inputs
from axioms.rewrites.apply import checked_rewrite
from axioms.run.runner import Runner
from axioms.spec import expand_file
from axioms.subjects.data import random_tokens
from axioms.subjects.models.tiny import tiny

SPEC = """claim: c
subject:
  pair: {{model: {model}, rewrite: {rewrite}}}
  data: {{points: [[1, 2, 3], [2, -1, 0.5]]}}
run: {{dtype: float64}}
methods: [{method}]
checks:
  - axiom: implementation_invariance
"""
MLP = "{mlp: {weights: [[[1, 2, -1], [0, 1, 1]], [[1, -2]]], activation: tanh}}"
EXPRESSION = '{expression: "tanh(a*b) + c"}'


def passes(write_spec: Callable[..., Path], model: str, rewrite: str, method: str) -> bool:
    checks = expand_file(write_spec(SPEC.format(model=model, rewrite=rewrite, method=method))).checks
    check = next(check for check in checks if check.function == "implementation_invariance")
    return Runner().run(check).judgement.passed


@pytest.mark.parametrize("model", [MLP, EXPRESSION])
@pytest.mark.parametrize(
    ("rewrite", "keeps", "breaks"),
    [
        ("input_shift", ["gradient"], ["gradient_x_input", "loo", "integrated_gradients"]),
        ("input_scale", ["gradient_x_input", "loo", "integrated_gradients"], ["gradient"]),
    ],
)
def test_who_feels_the_units(
    write_spec: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    rewrite: str,
    keeps: list[str],
    breaks: list[str],
) -> None:
    assert all(passes(write_spec, model, rewrite, method) for method in keeps)
    assert not any(passes(write_spec, model, rewrite, method) for method in breaks)
    original = METHODS.get(keeps[0])

    def off(model: Any, inputs: Any, target: Any) -> Any:
        scores = original.function(model, inputs, target)
        is_rewritten = inputs.features[0, 0] != 1
        return scores + 0.01 * scores.abs().amax(dim=1, keepdim=True) if is_rewritten else scores

    monkeypatch.setitem(METHODS._entries, keeps[0], replace(original, function=off))
    assert not passes(write_spec, model, rewrite, keeps[0])


@pytest.mark.parametrize("name", ["input_shift", "input_scale"])
def test_the_constant_goes_into_the_first_layer(name: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 2)).double()
    rewritten, gap = checked_rewrite(name, {"by": 3.0}, model, Inputs(torch.rand(4, 3, dtype=torch.float64)), 4)
    assert gap < 1e-12
    assert isinstance(rewritten.module, nn.Sequential)
    assert rewritten.module is not model
    assert name not in rewrites_of_all()


def test_where_they_do_not_apply() -> None:
    model = tiny(architecture="bert")
    with pytest.raises(NotApplicable, match="first argument"):
        checked_rewrite("input_shift", {}, model, read_inputs(model, random_tokens(n=2, length=4).inputs), 2)
    with pytest.raises(InputError, match="not 0"):
        checked_rewrite("input_scale", {"by": 0.0}, nn.Linear(2, 1).double(), Inputs(torch.ones(1, 2).double()), 1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("width", [1, 3])
def test_a_shift_is_in_the_bias_that_a_layer_has_or_gets(width: int, bias: bool) -> None:
    """g(x + by) = f(x), of a layer with a single input too."""
    torch.manual_seed(0)
    model, x = nn.Linear(width, 2, bias=bias).double(), torch.rand(4, width, dtype=torch.float64)
    rewritten, gap = checked_rewrite("input_shift", {"by": 3.0}, model, Inputs(x), 4)
    assert gap < 1e-12
    assert isinstance(rewritten.module, nn.Linear)
    torch.testing.assert_close(rewritten.module(x + 3.0), model(x))
