"""Methods that take features away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target


@method("loo", passes=None)
def loo(model: Model, inputs: Inputs, target: Target, *, rows: int = 1024) -> Tensor:
    """Leave-one-out: f(x) - f(x without feature i), exactly, `rows` forward passes at a time."""
    import torch

    batch, length = inputs.features.shape[:2]
    device = inputs.features.device
    example = torch.arange(batch, device=device).repeat_interleave(length)
    feature = torch.arange(length, device=device).repeat(batch)
    without = []
    with torch.no_grad():
        for chunk in torch.arange(batch * length, device=device).split(rows):
            removed = torch.zeros(len(chunk), length, dtype=torch.bool, device=device)
            removed[torch.arange(len(chunk), device=device), feature[chunk]] = True
            cut = inputs.select(example[chunk]).without(removed)
            without.append(target.select(example[chunk])(model(cut)))
        output = target(model(inputs))
    return output.unsqueeze(1) - torch.cat(without).reshape(batch, length)
