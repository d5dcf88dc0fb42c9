"""How much of an attribution survives fewer digits: float64 against the same model in a lower precision."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from axioms.checks.views import SideView, as_numpy, relative_gap
from axioms.measure import Values
from axioms.registry import Metric, axiom

if TYPE_CHECKING:
    import torch


@axiom(
    "precision",
    metrics={
        # The rounding itself, which differs from CPU to CPU: a baseline can only hold its size.
        "relative_gap": Metric("max_i |lower_i - float64_i| / max_i max(|lower_i|, |float64_i|)", moves=(1e-4, 1.0))
    },
    expect={"relative_gap.max": {"le": 1e-3}},
)
def precision(side: SideView, *, dtype: Literal["float32", "bfloat16", "float16"] = "float32") -> dict[str, Values]:
    """The gap between the relevance in float64 and in `dtype`, for the same target.

    The bound of its own is for float32; one for 16 bits is a claim about a model, and belongs in its spec.
    """
    import torch

    is_exact = side.side.inputs.features.dtype == torch.float64
    exact = side.scores if is_exact else scores_in(side, torch.float64)
    return {"relative_gap": relative_gap(scores_in(side, getattr(torch, dtype)), exact)}


def scores_in(side: SideView, dtype: torch.dtype) -> Values:
    """The relevance of a copy of the model in this dtype; the model itself stays as it is."""
    from axioms.subjects.build import Placement, moved
    from axioms.subjects.model import Model

    inputs = side.side.inputs
    place = Placement(inputs.features.device, dtype)
    tensors = {name: value for name, value in inputs.fixed.items() if hasattr(value, "is_floating_point")}
    cast = moved(tensors, place)
    assert isinstance(cast, dict)
    lower = replace(inputs, features=inputs.features.to(dtype), fixed={**inputs.fixed, **cast})
    model = Model(copy.deepcopy(side.side.model.module).to(dtype))
    return as_numpy(side.rerun(model, lower, side.target, side.side.batch_size).scores)
