"""Inputs with more padding, which nobody attends to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axioms.core.errors import NotDefined

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.model.inputs import Inputs


def padded(module: nn.Module, inputs: Inputs, by: int, side: str) -> Inputs:
    """Return the inputs with `by` masked tokens at one end: zeros in all that is per token, the pad id in the ids."""
    import torch

    from axioms.model.inputs import EMBEDDINGS, embed

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
