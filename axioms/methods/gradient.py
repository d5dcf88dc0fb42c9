"""Methods that differentiate the model as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.counts import Nodes
from axioms.core.errors import InputError
from axioms.core.registry import method
from axioms.engine.attribution import Decomposition
from axioms.engine.composite import Composite
from axioms.methods.estimates import slope

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target


def plain_composite() -> Composite:
    """Return a composite without rules: every operation is crossed by its own gradient."""
    return Composite(())


def differentiate(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Return the gradient of every example's target with respect to its own features, where they are."""
    from axioms.model.forms import gradient_of
    from axioms.model.tail import differentiate_short

    def compute(model: Model) -> Tensor:
        features = inputs.features.detach().requires_grad_()
        outputs = model(inputs.with_features(features))
        target.settle(outputs)
        return gradient_of(target(outputs).sum(), features)

    return differentiate_short(model, inputs, target, compute)


def differentiate_inside(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Return the gradient with respect to the features, and leave that at other places with the taps that are open."""
    from axioms.engine.handlers.patch import differentiate_at_taps, run_tapped
    from axioms.engine.handlers.tap import ACTIVE

    if not ACTIVE.get():
        return differentiate(model, inputs, target)
    features = inputs.features.detach().requires_grad_()
    outputs = run_tapped(model, inputs.with_features(features))
    target.settle(outputs)
    return differentiate_at_taps(target(outputs).sum(), features)


@method("gradient", composite=plain_composite, settles=True, estimate=slope)
def gradient(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """The gradient itself (Simonyan et al. 2014), summed over the width of an embedding.

    Where a LayerNorm follows the embeddings that sum is zero; `gradient_l1` and `gradient_l2` are made for them.
    """
    return differentiate_inside(model, inputs, target)


@method("gradient_x_input", composite=plain_composite, settles=True)
def gradient_x_input(model: Model, inputs: Inputs, target: Target) -> Tensor:
    """Gradient times input (Shrikumar et al. 2016)."""
    return inputs.features * differentiate_inside(model, inputs, target)


@method("integrated_gradients", passes=None, composite=plain_composite, settles=True)
def integrated_gradients(
    model: Model,
    inputs: Inputs,
    target: Target,
    *,
    steps: Nodes = 20,
    baseline: float = 0.0,
    nodes: Literal["gauss_legendre", "midpoint"] = "gauss_legendre",
) -> Decomposition:
    """(x - x') times the mean gradient on the straight path from x' to x (Sundararajan et al. 2017).

    `steps` Gauss-Legendre nodes are exact for paths on which the gradient is a polynomial of degree 2 * steps - 1.
    The scores decompose f(x) - f(x').
    """
    import numpy as np
    import torch

    if steps < 1:
        raise InputError(f"integrated_gradients needs at least one step, not {steps}.")
    if nodes == "gauss_legendre":
        places, weights = np.polynomial.legendre.leggauss(steps)
        places, weights = (places + 1) / 2, weights / 2
    else:
        places, weights = (np.arange(steps) + 0.5) / steps, np.full(steps, 1 / steps)
    start = torch.full_like(inputs.features, baseline)
    difference = inputs.features - start
    with torch.no_grad():
        outputs = model(inputs)
        target.settle(outputs)  # before the path, on which other classes may be predicted
        total = target(outputs) - target(model(inputs.with_features(start)))
    mean = torch.zeros_like(difference)
    for place, weight in zip(places.tolist(), weights.tolist(), strict=True):
        mean += weight * differentiate(model, inputs.with_features(start + place * difference), target)
    return Decomposition(difference * mean, total)
