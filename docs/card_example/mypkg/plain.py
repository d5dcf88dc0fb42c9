"""A method that is a plain function."""

import torch

SHARE = 0.5


def between(model, inputs, target, *, share: float = SHARE):
    """The gradient at a share of the input, times the input."""
    features = (share * inputs.features).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(target(model(inputs.with_features(features))).sum(), features)
    return inputs.features * gradient
