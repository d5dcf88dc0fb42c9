"""Tokens that nobody attends to must not change the attribution: padded = unpadded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from axioms.checks.views import GAP, NOTHING, SideView, as_numpy, divided
from axioms.errors import InputError, NotDefined
from axioms.lazy import np
from axioms.measure import Values
from axioms.registry import Metric, axiom

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.subjects.build import Side
    from axioms.subjects.inputs import Inputs


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
def padding_invariance(view: SideView, *, by: int = 3, side: Literal["right", "left"] = "right") -> dict[str, Values]:
    """The gap between the relevance with and without `by` masked tokens at the end, and what those tokens get.

    On the right nothing moves. On the left every token moves on by `by` places: that is another input for a model that
    looks positions up by place (BERT, GPT-2) and for a classifier that reads its first token, which is then padding.
    Where the model's own outputs see the padding, the axiom is not defined, and says so.
    """
    import torch

    if by < 1:
        raise InputError(f"padding_invariance needs at least one token of padding, not {by}.")
    one = view.side
    longer, outputs = _longer(one, by, side)
    plain, moved = (as_numpy(view.target(each)) for each in (one.outputs, outputs))
    seen = float(divided(np.abs(moved - plain), np.abs(plain)).max())
    if not seen <= np.sqrt(torch.finfo(one.inputs.features.dtype).eps):  # half of the digits
        raise NotDefined(
            f"padding on the {side} is another input for this model: its outputs move by {seen:.1g} of themselves."
        )
    scores = as_numpy(view.rerun(one.model, longer, view.target, one.batch_size).scores)
    original, added = (scores[:, :-by], scores[:, -by:]) if side == "right" else (scores[:, by:], scores[:, :by])
    return {
        "relative_gap": view.gap_to(original),
        "on_padding": divided(
            np.abs(added).max(axis=1), np.maximum(np.abs(scores).max(axis=1), NOTHING * np.abs(plain))
        ),
    }


def _longer(one: Side, by: int, side: str) -> tuple[Inputs, Tensor]:
    """The padded inputs with the model's outputs, made once for all methods."""
    from axioms.subjects.build import outputs_of

    key = ("padded", by, side)
    if key not in one.memory:
        longer = padded(one.model.module, one.inputs, by, side)
        one.memory[key] = (longer, outputs_of(one.model, longer, one.batch_size))
    found: tuple[Inputs, Tensor] = one.memory[key]
    return found


def padded(module: nn.Module, inputs: Inputs, by: int, side: str) -> Inputs:
    """The inputs with `by` masked tokens at one end: zeros in everything that is per token, the pad id in the ids."""
    import torch

    from axioms.subjects.inputs import EMBEDDINGS, embed

    mask = inputs.fixed.get("attention_mask")
    if inputs.slot != EMBEDDINGS or mask is None or mask.dim() != 2:
        raise NotDefined("padding_invariance needs `input_ids` with an `attention_mask` of batch x tokens.")
    pad: int = getattr(getattr(module, "config", None), "pad_token_id", None) or 0
    ids = inputs.fixed["input_ids"].new_full((len(inputs), by), pad)

    def longer(value: Tensor, more: Tensor) -> Tensor:
        return torch.cat([value, more] if side == "right" else [more, value], dim=1)

    def extended(name: str, value: Any) -> Any:
        if name == "input_ids":
            return longer(value, ids)
        per_token = isinstance(value, torch.Tensor) and value.shape == mask.shape
        return longer(value, value.new_zeros(len(inputs), by)) if per_token else value

    fixed = {name: extended(name, value) for name, value in inputs.fixed.items()}
    features = longer(inputs.features, embed(module, {"input_ids": ids}))
    position = inputs.position if inputs.position is None or side == "right" else inputs.position + by
    assert inputs.candidates is not None  # there is a mask
    candidates = longer(inputs.candidates, inputs.candidates.new_zeros(len(inputs), by))
    # What is drawn for a place goes with it; padding is never removed, so that anything will do there.
    drawn = inputs.drawn
    if drawn is not None:
        more = drawn[..., :1].expand(*drawn.shape[:2], by)
        drawn = torch.cat([drawn, more] if side == "right" else [more, drawn], dim=2)
    return replace(inputs, features=features, fixed=fixed, position=position, candidates=candidates, drawn=drawn)
