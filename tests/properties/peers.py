"""What the comparisons with captum and Quantus share: one small model, and our methods in the shape of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import axioms.properties  # noqa: F401  (registers them)
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.values import as_numpy
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.targets import Target, choose
from axioms.properties.helpers.views import SideView
from axioms.search.trial import TrialBench
from axioms.subjects.built import ONLY, Side

COUNT = 3
IMAGES = (COUNT, 1, 4, 4)
CLASS = 1


class Net(nn.Module):
    """A small network over images of 4 x 4, or over sixteen features."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3)).double()

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.layers(x)
        return outputs


def make_side(module: nn.Module | None = None, method: str = "gradient_x_input") -> SideView:
    """Return three inputs of a model, with a method on its output `CLASS`."""
    module = (Net() if module is None else module).eval()
    features = torch.rand(COUNT, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1
    built = Side(ONLY, Model(module), read_inputs(module, features), batch_size=8)
    target = choose(CLASS, built.outputs)
    return SideView(built, target, TrialBench(METHODS.get(method), built, target))


def measured(side: SideView, axiom: str, metric: str, **options: Any) -> np.ndarray:
    """Return one metric of one of our axioms."""
    return np.asarray(AXIOMS.get(axiom).function(side, **options)[metric])


def import_quantus() -> Any:
    """Return the package, or skip: its opencv does not load on a machine without a display's libraries."""
    reason = "quantus cannot be imported: pip install quantus opencv-python-headless"
    return pytest.importorskip("quantus", reason=reason, exc_type=ImportError)


def evaluate(metric: Any, side: SideView, **given: Any) -> Any:
    """Return what a metric of Quantus says of the scores of the method under test."""
    asked = {
        "model": side.model.module,
        "x_batch": as_numpy(side.inputs.features).reshape(IMAGES),
        "y_batch": np.full(COUNT, CLASS),
        "a_batch": side.scores.reshape(IMAGES),
        "softmax": False,
        "explain_func": explainer(side),
    }
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # Quantus makes a torch.Tensor of what it is given
    try:
        return metric(**{**asked, **given})
    finally:
        torch.set_default_dtype(before)


def explainer(side: SideView) -> Callable[..., np.ndarray]:
    """Return the method under test as a function of Quantus' arguments, for any copy of the model."""

    def explain(model: nn.Module, inputs: np.ndarray, targets: np.ndarray, **_: Any) -> np.ndarray:
        flat = torch.as_tensor(inputs, dtype=torch.float64).flatten(1)
        target = Target(torch.as_tensor(targets).long().flatten())
        attribution = side.bench.rerun(Model(model), read_inputs(model, flat), target, 8)
        return as_numpy(attribution.scores).reshape(inputs.shape)

    return explain


def quiet(**options: Any) -> dict[str, Any]:
    """Return the options of a Quantus metric that leave the scores as they are."""
    plain = {"abs": False, "normalise": False, "return_aggregate": False, "disable_warnings": True}
    return {**plain, **options}


def in_turn(values: Iterable[np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a function that gives the next of these arrays at every call, whatever it is called with."""
    left = iter(values)
    return lambda *args, **kwargs: next(left)
