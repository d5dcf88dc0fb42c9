"""A side whose method is any function of its inputs, for axioms that are computed by hand beside it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from axioms.core.entries import Method
from axioms.engine.attribution import Attribution
from axioms.methods.running import run_method
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.targets import Target
from axioms.properties.helpers.views import SideView
from axioms.subjects.built import Side

Numbers = np.ndarray[Any, Any]


class Three(nn.Module):
    """Three outputs of four features, none of them linear."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 5).double(), nn.Linear(5, 3).double()
        generator = torch.Generator().manual_seed(0)
        for weight in self.parameters():
            weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.tanh(self.first(x)))


class OneBench:
    """Runs one method, and keeps what it is told of progress."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = Method("mine", method)
        self.told: list[tuple[int, int]] = []
        self.known: dict[Hashable, Any] = {}
        self.view: SideView | None = None

    def attribution(self) -> Attribution:
        assert self.view is not None
        return self.rerun(self.view.model, self.view.inputs, self.view.target, self.view.batch_size)

    def reference(self) -> Attribution:
        from axioms.core.registry import METHODS

        assert self.view is not None
        view = self.view
        return run_method(
            METHODS.get("loo"), view.model, view.inputs, view.target, None, batch_size=view.batch_size, options={}
        )

    def rerun(self, model: Model, inputs: Inputs, target: Target, batch_size: int) -> Attribution:
        return run_method(self.method, model, inputs, target, None, batch_size=batch_size, options={})

    def remember(self, what: Hashable, compute: Callable[[], Any]) -> Any:
        if what not in self.known:
            self.known[what] = compute()
        return self.known[what]

    def estimate(self, tap: Any, patch: Tensor) -> Tensor:
        from axioms.methods.estimates import difference

        return difference(tap, patch)

    def progress(self, done: int, total: int) -> None:
        self.told.append((done, total))


def gradient_x_input(model: Model, inputs: Inputs, target: Target) -> Tensor:
    x = inputs.features.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(target(model(inputs.with_features(x))).sum(), x)
    return inputs.features * gradient


def make_side(
    module: nn.Module,
    inputs: Inputs,
    target: list[int] | None = None,
    method: Callable[..., Any] = gradient_x_input,
    batch_size: int = 2,
) -> tuple[SideView, OneBench]:
    """Return a side and its bench."""
    bench, index = OneBench(method), torch.tensor([0] * len(inputs) if target is None else target)
    view = SideView(Side("left", Model(module), inputs, batch_size), Target(index), bench)  # type: ignore[arg-type]
    bench.view = view
    return view, bench


POINTS = torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.3, 0.1, -1.0, 2.0], [-1.5, 0.7, 0.2, -0.4]], dtype=torch.float64)
TARGET = [0, 2, 1]


def points(**changes: Any) -> tuple[SideView, OneBench]:
    """Three examples of four features for a model of three outputs."""
    return make_side(Three(), Inputs(POINTS.clone(), first=changes.pop("first", 0)), TARGET, **changes)


def value(rows: Any, target: int) -> Numbers:
    """Return one output of the model for rows of features."""
    with torch.no_grad():
        found: Numbers = Three()(torch.as_tensor(np.asarray(rows)))[:, target].numpy()
    return found


def without(row: Any, gone: Any) -> Numbers:
    """Return features of which some are zero."""
    return np.where(np.asarray(gone), 0.0, np.asarray(row))
