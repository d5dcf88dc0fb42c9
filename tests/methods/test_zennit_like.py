"""Composites with zennit's interface are methods, by the dotted path of their class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import axioms
from axioms.core.errors import UnknownName
from axioms.methods.adapters import _hooked
from axioms.methods.zennit_like import composite_class
from axioms.subjects.models.modules import fixed_linear


class Mine:
    """A composite that changes nothing, or scales everything."""

    def __init__(self, times: float = 1.0, unsaid=None) -> None:  # type: ignore[no-untyped-def]
        self.times = times

    @contextmanager
    def context(self, module: nn.Module) -> Iterator[Any]:
        def hook(module: nn.Module, args: Any, output: Any) -> Any:
            return output * self.times

        handle = module.register_forward_hook(hook)
        try:
            yield module
        finally:
            handle.remove()


@pytest.fixture(autouse=True)
def module() -> Iterator[None]:
    made = ModuleType("t_zennit_like")
    made.Mine, made.number, made.Other = Mine, 3, int  # type: ignore[attr-defined]
    sys.modules["t_zennit_like"] = made
    yield
    del sys.modules["t_zennit_like"]


X = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)


@pytest.mark.parametrize("times", [1.0, 3.0])
def test_a_composite_distributes_the_output(times: float) -> None:
    weight = torch.tensor([[2.0, -1.0]], dtype=torch.float64)
    model = fixed_linear(weight.tolist(), None)
    found = axioms.attribute(model, X, method="zennit:t_zennit_like.Mine", times=times).scores
    output = times * (X @ weight.T)
    torch.testing.assert_close(found, output * times * weight)


def test_the_keywords_it_is_made_with_are_the_options() -> None:
    entry = composite_class("t_zennit_like.Mine", _hooked)
    assert entry.name == "zennit:t_zennit_like.Mine"
    assert entry.passes is None
    assert entry.summary == "A composite that changes nothing, or scales everything."
    fields = entry.options_model().model_fields
    assert {name: field.default for name, field in fields.items()} == {"times": 1.0}
    assert fields["times"].annotation is float
    assert not entry.is_ours


@pytest.mark.parametrize("name", ["Mien", "number", "Other"])
def test_what_is_no_composite(name: str) -> None:
    with pytest.raises(UnknownName, match=f"'t_zennit_like' has no class '{name}' with a method `context`"):
        composite_class(f"t_zennit_like.{name}", _hooked)
    with pytest.raises(UnknownName, match="Did you mean 'Mine'"):
        composite_class("t_zennit_like.Mien", _hooked)


def test_options_have_the_types_that_are_written_and_are_given_by_name() -> None:
    parameters = inspect.signature(composite_class("t_zennit_like.Mine", _hooked).function).parameters
    assert (parameters["times"].annotation, parameters["times"].default) == (float, 1.0)
    assert parameters["times"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "unsaid" not in parameters
