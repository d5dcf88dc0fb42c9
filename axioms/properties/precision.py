"""How much of an attribution survives fewer digits: float64 against the same model in a lower precision."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from axioms.core.entries import Metric
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, relative_gap
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    import torch

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.subjects.built import Side


@axiom(
    "precision",
    metrics={
        # The rounding itself, which differs from CPU to CPU: by a factor of eight between two that the suite was run
        # on. A baseline can hold the size of the gap; a ratio of two roundings is held by its bound alone.
        "relative_gap": Metric("max_i |lower_i - float64_i| / max_i max(|lower_i|, |float64_i|)", moves=(1e-4, 1.0)),
        "amplification": Metric(
            "max_i |lower_i - float64_i| / max(max_i |rounded_i - float64_i|, unit roundoff * max(|score|, |output|))",
            moves=(64.0, 1.0),
        ),
    },
    expect={"amplification.max": {"le": 64}},
)
def precision(side: SideView, *, dtype: Literal["float32", "bfloat16", "float16"] = "float32") -> dict[str, Values]:
    """The gap between the relevance in float64 and in `dtype`, for the same target, in units that fit every dtype.

    Weights and inputs that are `rounded` to `dtype`, with all else in float64, move even exact relevance, and no score
    can be known better than to a unit roundoff of the output that it explains. One that is computed in `dtype` is
    rounded again at each operation. If no rounding is amplified they add up at worst, so that the bound is a number
    of operations in a row, whatever the dtype: 64 are two layers of 16, forward and back.
    """
    import torch

    is_exact = side.inputs.features.dtype == torch.float64
    exact = side.scores if is_exact else scores_in(side, torch.float64)
    lower = getattr(torch, dtype)
    computed, rounded = scores_in(side, lower), scores_in(side, lower, torch.float64)
    unit = torch.finfo(lower).eps / 2
    size = np.maximum(np.abs(exact).max(axis=1), np.abs(as_numpy(side.bench.attribution().output)))
    least = np.maximum(np.abs(rounded - exact).max(axis=1), unit * size)
    return {
        "relative_gap": relative_gap(computed, exact),
        "amplification": np.abs(computed - exact).max(axis=1) / least,
    }


def scores_in(side: SideView, *dtypes: torch.dtype) -> Values:
    """Return the relevance of a copy of the model, cast to each dtype in turn; the model itself stays as it is."""
    # Copied once for all methods: most of the time would go into copying.
    model, inputs = side.bench.remember(("cast", *dtypes), lambda: _cast(side.side, dtypes))
    return side.rerun(model, inputs)


def _cast(side: Side, dtypes: Sequence[torch.dtype]) -> tuple[Model, Inputs]:
    """Return a copy of the model with its inputs, in the last of the dtypes."""
    from axioms.model.module import Model
    from axioms.subjects.built import Placement, move_inputs

    inputs, module = side.inputs, copy.deepcopy(side.model.module)
    for dtype in dtypes:
        tensors = {name: value for name, value in inputs.fixed.items() if hasattr(value, "is_floating_point")}
        cast = move_inputs(tensors, Placement(inputs.features.device, dtype))
        assert isinstance(cast, dict)
        inputs = replace(inputs, features=inputs.features.to(dtype), fixed={**inputs.fixed, **cast})
        module = module.to(dtype)
    return Model(module), inputs
