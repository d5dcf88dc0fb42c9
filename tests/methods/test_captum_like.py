"""Classes with captum's interface are methods, by the dotted path of their class."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import axioms
from axioms.core.errors import MethodFailed, UnknownName
from axioms.methods.captum_like import class_method
from axioms.subjects.models.modules import fixed_linear


class Mine:
    """Ten times the gradient."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def attribute(self, inputs: Tensor, target: int, times: float = 10.0, rows: int = 1, needed: Any = None) -> Any:
        expanded = inputs.repeat(rows, *[1] * (inputs.dim() - 1))
        output = self.model(expanded)
        assert output.shape == (len(expanded), 1)
        assert target == 0
        (gradient,) = torch.autograd.grad(output.sum() / rows, inputs)
        scores = times * gradient
        return (scores,) if needed == "tuple" else scores


class Failing(Mine):
    def attribute(self, *_: Any, **__: Any) -> Any:
        raise ValueError("not today")


@pytest.fixture(autouse=True)
def module() -> Iterator[None]:
    made = ModuleType("t_captum_like")
    made.Mine, made.Failing, made.number, made.NoMethod = Mine, Failing, 3, int  # type: ignore[attr-defined]
    made.attributed = type("Has", (), {"attribute": 3})  # type: ignore[attr-defined]
    made.instance = Mine(nn.Identity())  # type: ignore[attr-defined]
    sys.modules["t_captum_like"] = made
    yield
    del sys.modules["t_captum_like"]


WEIGHT = [[1.0, -2.0, 3.0], [0.5, 0.5, -1.0]]
X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)


@pytest.mark.parametrize("options", [{}, {"times": 2.0}, {"rows": 3}, {"needed": "tuple"}])
def test_a_class_is_a_method(options: dict[str, Any]) -> None:
    """Rows beyond the batch are the batch again, each with its own target."""
    target = torch.tensor([1, 0])
    found = axioms.attribute(
        fixed_linear(WEIGHT, None), X, target=target, method="captum:t_captum_like.Mine", **options
    )
    wanted = options.get("times", 10.0) * torch.tensor(WEIGHT, dtype=torch.float64)[target]
    torch.testing.assert_close(found.scores, wanted)


def test_its_keywords_are_the_options() -> None:
    entry = class_method("t_captum_like.Mine")
    assert entry.name == "captum:t_captum_like.Mine"
    assert entry.passes is None
    assert entry.summary == "Ten times the gradient."
    fields = entry.options_model().model_fields
    assert {name: field.default for name, field in fields.items()} == {"times": 10.0, "rows": 1, "needed": None}
    assert fields["times"].annotation is float
    assert not entry.is_ours


@pytest.mark.parametrize("name", ["Mien", "number", "NoMethod", "attributed", "instance"])
def test_what_is_no_such_class(name: str) -> None:
    with pytest.raises(UnknownName, match=f"'t_captum_like' has no class '{name}' with a method `attribute`"):
        class_method(f"t_captum_like.{name}")


def test_what_it_raises_is_said() -> None:
    with pytest.raises(MethodFailed, match=r"method 'captum:t_captum_like.Failing' raised ValueError: not today"):
        axioms.attribute(fixed_linear(WEIGHT, None), X, method="captum:t_captum_like.Failing")
