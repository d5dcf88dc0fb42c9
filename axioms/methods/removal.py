"""Methods that take features away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.attribution import within_batch
from axioms.errors import InputError
from axioms.registry import method

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.inputs import Inputs
    from axioms.subjects.model import Model
    from axioms.subjects.targets import Target


@method("loo", passes=None)
def loo(model: Model, inputs: Inputs, target: Target, *, rows: int = 1024) -> Tensor:
    """Leave-one-out: f(x) - f(x without feature i), exactly, up to `rows` rows in a forward pass.

    What is left out and how is the subject's `remove`. A chunk is left out as a whole, and its tokens share its score
    equally. What is no candidate (padding, special tokens that are kept) has score 0.
    """
    import torch

    from axioms.subjects.probe import probe

    if rows < 1:
        raise InputError(f"loo needs at least one row in a forward pass, not {rows}.")
    batch, length = inputs.features.shape[:2]
    device = inputs.features.device
    units = inputs.units()
    if units is None:
        units = torch.arange(length, device=device).expand(batch, length)
        example = torch.arange(batch, device=device).repeat_interleave(length)
        number = torch.arange(length, device=device).repeat(batch)
    else:
        example, number = (torch.arange(length, device=device) <= units.amax(dim=1, keepdim=True)).nonzero().T
    removed = units[example] == number.unsqueeze(1)
    (cut,) = probe(model, inputs, [target], example, removed, rows=rows, progress=within_batch())
    with torch.no_grad():
        output = target(model(inputs))
    shared = (output[example] - cut) / removed.sum(dim=1)
    scores = shared.new_zeros(batch, length)
    scores[example, number] = shared
    return scores.gather(1, units.clamp(min=0)).masked_fill(units < 0, 0)
