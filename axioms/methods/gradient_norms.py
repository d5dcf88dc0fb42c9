"""The size of the gradient, whatever its direction (Arras et al. 2025, Section 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import method
from axioms.methods.gradient import differentiate, plain_composite

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


@method("gradient_l1", composite=plain_composite, settles=True)
def gradient_l1(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """The L1 norm of the gradient over the width of each feature."""
    return _over_width(differentiate(model, inputs, target).abs())


@method("gradient_l2", composite=plain_composite, settles=True)
def gradient_l2(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """The squared L2 norm of the gradient over the width of each feature.

    Squared, so that the scores of the parts of a word add up to the word's.
    """
    return _over_width(differentiate(model, inputs, target).square())


def _over_width(sizes: Tensor) -> Tensor:
    """Return batch x features; pixels and other features without a width are their own norm."""
    return sizes.flatten(2).sum(2) if sizes.dim() > 2 else sizes
