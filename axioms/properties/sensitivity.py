"""A feature that alone makes a difference gets something: f(x) != f(b), x and b differ in i alone, so R_i(x) != 0.

Sensitivity(a) of Sundararajan et al. 2017, Section 2.1. b is the input with everything removed, and x is b with one
feature put back, for each feature of each example. The axiom asks for something, however small; `relative_error` says
how far that is from the whole difference, which is `sensitivity_n` with n = 1 of a single feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.model.inputs import Inputs
    from axioms.model.targets import Target

NOTHING = 1e-9
"""The share of the difference under which a feature has got nothing, or under which there is no difference."""


@axiom(
    "sensitivity",
    metrics={
        "missed": Metric("share of features that alone change the output and get no relevance"),
        "relative_error": Metric("max_i |R_i - (f(x_i) - f(b))| / max_i |f(x_i) - f(b)|, x_i is b with feature i"),
    },
    expect={"missed.max": {"le": 0}},
)
def sensitivity(side: SideView) -> dict[str, Values]:
    """The share of features that make a difference alone, and get nothing where they are alone."""
    if side.inputs.removal.kind == "delete":
        raise InputError(
            "removal by delete closes the text up, so that a feature which is left alone is at another place; use one "
            "that leaves it where it is, such as `remove: attention_mask`."
        )
    count, length = side.inputs.features.shape[:2]
    alone, target = _alone(side)
    scores = as_numpy(side.bench.rerun(side.model, alone, target, side.batch_size).scores)
    own = np.diagonal(scores.reshape(count, length, length), axis1=1, axis2=2)
    change = side.bench.remember(("alone",), lambda: _changes(side, alone, target))
    size = np.abs(change).max(axis=1, keepdims=True)
    matters = np.abs(change) > NOTHING * np.maximum(size, np.abs(side.outputs).max(axis=1, keepdims=True))
    missed = matters & (np.abs(own) <= NOTHING * np.abs(change))
    return {
        "missed": divided(missed.sum(axis=1).astype(np.float64), matters.sum(axis=1).astype(np.float64)),
        "relative_error": divided(np.abs(own - change).max(axis=1), size[:, 0]),
    }


def _alone(side: SideView) -> tuple[Inputs, Target]:
    """Return each example once for each feature, with that feature alone, and the targets."""
    import torch

    count, length = side.inputs.features.shape[:2]
    device = side.inputs.features.device
    example = torch.arange(count, device=device).repeat_interleave(length)
    removed = ~torch.eye(length, dtype=torch.bool, device=device).repeat(count, 1)
    return side.inputs.select(example).without(removed), side.target.select(example)


def _changes(side: SideView, alone: Inputs, target: Target) -> Values:
    """Return what each feature alone adds to the output without any: examples x features."""
    import torch

    from axioms.subjects.built import outputs_of

    features = side.inputs.features
    nothing = side.inputs.without(torch.ones(features.shape[:2], dtype=torch.bool, device=features.device))
    base = as_numpy(side.target(outputs_of(side.model, nothing, side.batch_size)))
    values = as_numpy(target(outputs_of(side.model, alone, side.batch_size)))
    return values.reshape(len(base), -1) - base[:, None]
