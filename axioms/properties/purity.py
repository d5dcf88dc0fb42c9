"""Attributing must change nothing: before = after, and a second run gives the same answer."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from axioms.core.entries import Metric
from axioms.core.errors import ModelChanged
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.model.weights import putting_back
from axioms.properties.helpers.state import GROUPS, watched
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.module import Model


@axiom(
    "purity",
    metrics={
        "changes": Metric("number of things that are not as they were; the same for every example"),
        **{group: Metric(about) for group, about in GROUPS.items()},
        "relative_gap": Metric("max_i |first_i - second_i| / max_i max(|first_i|, |second_i|)", rounding=True),
    },
    expect={f"{name}.max": {"le": 0} for name in ("changes", *GROUPS)} | {"relative_gap.max": {"le": 1e-9}},
)
def purity(side: SideView) -> dict[str, Values]:
    """What running the method changes, and how far its scores are from those of the run before.

    State it first in a spec: what only a method's first run changes is seen here only if no other check ran it before.
    """
    outputs = side.side.outputs  # those of the untouched model, and whatever a first forward pass loads is loaded
    changed: set[tuple[str, str]] = set()
    with putting_back(side.model.module):
        with watched(side.model.module, changed):
            try:
                first = side.scores
            except ModelChanged:  # which is what is asked here: once more, and this time the change stays to be seen
                first = side.rerun(_left_alone(side.model))
            # Seen also from inside, because being at rest ends by restoring what a method may have left.
            with side.model.at_rest(), watched(side.model.module, changed):
                second = side.rerun(_left_alone(side.model))
        if not _close(replace(side.side).outputs, outputs):
            changed.add(("weights", "outputs"))
    counts = Counter(group for group, _ in changed)
    counted = {"changes": len(changed), **{group: counts[group] for group in GROUPS}}
    return {
        **{name: np.full(len(first), float(count)) for name, count in counted.items()},
        "relative_gap": relative_gap(first, second),
    }


def _left_alone(model: Model) -> Model:
    """Return the same model, which does not put itself at rest: the caller has, and watches what becomes of it."""
    from axioms.model.module import Model

    class LeftAlone(Model):
        at_rest = nullcontext  # type: ignore[assignment]
        is_guarded = False

    return LeftAlone(model.module)


def _close(now: Tensor, before: Tensor) -> bool:
    """Tell whether outputs are equal up to the rounding of one forward pass."""
    import torch

    return torch.allclose(now, before, rtol=1e-6, atol=0, equal_nan=True)
