"""Padding that nobody attends to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError, NotApplicable
from axioms.core.registry import rewrite_inputs
from axioms.subjects.built import Moved

if TYPE_CHECKING:
    from torch import nn

    from axioms.model.inputs import Inputs


@rewrite_inputs("pad_batch")
def pad_batch(model: nn.Module, inputs: Inputs, *, by: int = 3) -> Moved:
    """f(x) = f(x with `by` masked tokens at its end), since masked tokens are not read."""
    from axioms.model.padding import padded

    try:
        longer = padded(model, inputs, by, "right")
    except InputError:
        raise NotApplicable("its inputs have no attention mask of batch x tokens.") from None
    return Moved(longer, length=inputs.features.shape[1])
