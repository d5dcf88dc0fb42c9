"""Rewrites of the inputs: padding that nobody attends to, and examples in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.counts import Samples
from axioms.core.errors import InputError, NotApplicable
from axioms.core.registry import rewrite_inputs
from axioms.subjects.built import Moved

if TYPE_CHECKING:
    from torch import nn

    from axioms.model.inputs import Inputs


@rewrite_inputs("pad_batch")
def pad_batch(model: nn.Module, inputs: Inputs, *, by: Samples = 3) -> Moved:
    """f(x) = f(x with `by` masked tokens at its end), since masked tokens are not read."""
    from axioms.model.padding import padded

    try:
        longer = padded(model, inputs, by, "right")
    except InputError:
        raise NotApplicable("its inputs have no attention mask of batch x tokens.") from None
    return Moved(longer, length=inputs.features.shape[1])


@rewrite_inputs("reorder_batch")
def reorder_batch(model: nn.Module, inputs: Inputs) -> Moved:
    """f(P X) = P f(X) for a permutation P of the examples: the last becomes the first."""
    import torch

    if len(inputs) < 2:
        raise NotApplicable("there is one example only.")
    order = torch.arange(len(inputs), device=inputs.features.device).roll(1)
    return Moved(inputs.select(order), order)
