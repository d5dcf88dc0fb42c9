"""Tokens that nobody attends to must not change the attribution: padded = unpadded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.counts import Samples
from axioms.core.entries import Metric
from axioms.core.errors import InputError, NotDefined
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, divided
from axioms.properties.helpers.views import GAP, NOTHING, SideView

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.subjects.built import Side


@axiom(
    "padding_invariance",
    metrics={
        "relative_gap": Metric(f"{GAP.format(a='padded', b='plain')} over the original tokens i", rounding=True),
        "on_padding": Metric(
            "largest |relevance| on the added padding / largest |relevance|, or |output| / 1000", rounding=True
        ),
    },
    expect={"relative_gap.max": {"le": 1e-9}, "on_padding.max": {"le": 1e-9}},
)
def padding_invariance(
    view: SideView, *, by: Samples = 3, side: Literal["right", "left"] = "right"
) -> dict[str, Values]:
    """The gap between the relevance with and without `by` masked tokens at the end, and what those tokens get.

    On the right nothing moves. On the left every token moves on by `by` places: that is another input for a model that
    looks positions up by place (BERT, GPT-2) and for a classifier that reads its first token, which is then padding.
    Where the model's own outputs see the padding, the axiom is not defined, and says so.
    """
    import torch

    if by < 1:
        raise InputError(f"padding_invariance needs at least one token of padding, not {by}.")
    longer, outputs = view.bench.remember(("padded", by, side), lambda: _padded(view.side, by, side))
    plain, moved = (as_numpy(view.target(answers)) for answers in (view.side.outputs, outputs))
    seen = float(divided(np.abs(moved - plain), np.abs(plain)).max())
    if not seen <= np.sqrt(torch.finfo(view.inputs.features.dtype).eps):  # half of the digits
        raise NotDefined(
            f"padding on the {side} is another input for this model: its outputs move by {seen:.1g} of themselves."
        )
    scores = view.rerun(inputs=longer)
    original, added = (scores[:, :-by], scores[:, -by:]) if side == "right" else (scores[:, by:], scores[:, :by])
    return {
        "relative_gap": view.gap_to(original),
        "on_padding": divided(
            np.abs(added).max(axis=1), np.maximum(np.abs(scores).max(axis=1), NOTHING * np.abs(plain))
        ),
    }


def _padded(side: Side, by: int, where: str) -> tuple[Inputs, Tensor]:
    """Return the padded inputs with the model's outputs for them."""
    from axioms.model.padding import padded
    from axioms.subjects.built import outputs_of

    longer = padded(side.model.module, side.inputs, by, where)
    return longer, outputs_of(side.model, longer, side.batch_size)
