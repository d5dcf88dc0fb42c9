"""Examples in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.errors import NotApplicable
from axioms.registry import rewrite_inputs
from axioms.rewrites.apply import Moved

if TYPE_CHECKING:
    from torch import nn

    from axioms.subjects.inputs import Inputs


@rewrite_inputs("reorder_batch")
def reorder_batch(model: nn.Module, inputs: Inputs) -> Moved:
    """f(P X) = P f(X) for a permutation P of the examples: the last becomes the first."""
    import torch

    if len(inputs) < 2:
        raise NotApplicable("there is one example only.")
    order = torch.arange(len(inputs), device=inputs.features.device).roll(1)
    return Moved(inputs.select(order), order)
