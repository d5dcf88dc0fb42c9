"""Rewrites of the units of the input: a constant moves from the input into the first layer (Kindermans et al. 2019).

"The (Un)reliability of Saliency Methods": a method is input invariant if it mirrors that the network does not feel the
change. Zero, and so the removal of a feature, means something else after a shift.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError, NotApplicable
from axioms.core.registry import rewrite_units
from axioms.subjects.built import Moved

if TYPE_CHECKING:
    from torch import nn

    from axioms.model.inputs import Inputs


@rewrite_units("input_shift")
def input_shift(model: nn.Module, inputs: Inputs, *, by: float = 1.0) -> tuple[nn.Module, Moved]:
    """f(x) = g(x + by) with g(y) = f(y - by): in the bias of the first linear layer, or in front of what has none."""
    import torch

    from axioms.subjects.models.modules.wrapped import Shifted

    _check(inputs)
    moved = Moved(inputs.with_features(inputs.features + by))
    first = _first_linear(model)
    if first is None:
        return Shifted(model, inputs.features.new_tensor(-by)), moved
    bias = torch.zeros_like(first.weight[:, 0]) if first.bias is None else first.bias
    first.bias = torch.nn.Parameter(bias - by * first.weight.sum(dim=1), requires_grad=False)
    return model, moved


@rewrite_units("input_scale")
def input_scale(model: nn.Module, inputs: Inputs, *, by: float = 2.0) -> tuple[nn.Module, Moved]:
    """f(x) = g(by x) with g(y) = f(y / by): in the weights of the first linear layer, or in front of what has none."""
    from axioms.subjects.models.modules.wrapped import Scaled

    _check(inputs)
    if by == 0:
        raise InputError("input_scale needs a factor that can be undone, not 0.")
    moved = Moved(inputs.with_features(inputs.features * by))
    first = _first_linear(model)
    if first is None:
        return Scaled(model, 1 / by), moved
    first.weight.data /= by
    return model, moved


def _check(inputs: Inputs) -> None:
    if inputs.slot is not None:
        raise NotApplicable("its features are not the first argument of the model.")


def _first_linear(model: nn.Module) -> nn.Linear | None:
    """Return the linear layer that reads the features, where the model is one or a sequence that begins with one."""
    from torch import nn

    while isinstance(model, nn.Sequential) and len(model):
        model = model[0]
    return model if type(model) is nn.Linear else None
