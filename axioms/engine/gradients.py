"""The same value with another backward pass: what rules are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from axioms.engine.operations import Norm


class _ScaleGradient(torch.autograd.Function):
    """The value itself; its gradient times a factor.

    Marked as changed in place, so that no copy is made and models may go on to change the value in place.
    """

    @staticmethod
    def forward(ctx: Any, value: Tensor, factor: Tensor | float) -> Tensor:
        ctx.factor = factor
        ctx.set_materialize_grads(False)  # where nothing arrives, as behind a bypassed softmax, nothing is computed
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None if gradients[0] is None else gradients[0] * ctx.factor, None


class _WeightGradient(torch.autograd.Function):
    """The value itself; its gradient times a factor. Not in place: the value goes elsewhere as well."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.factor, None


class _GradientOf(torch.autograd.Function):
    """The value of one tensor with the gradient of another of the same shape."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, stand_in: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, gradients[0]


def scale_gradient(value: Tensor, factor: Tensor | float) -> Tensor:
    """Return `value` with its gradient multiplied by `factor`."""
    return _ScaleGradient.apply(value, factor)


def weight_gradient(value: Tensor, factor: float) -> Tensor:
    """Return `value` with its gradient multiplied by `factor` on this way alone."""
    return _WeightGradient.apply(value, factor)


def with_gradient_of(value: Tensor, stand_in: Tensor) -> Tensor:
    """Return `value`, whose gradient goes to `stand_in` of the same shape."""
    return _GradientOf.apply(value.detach(), stand_in)


def send_gradient(value: Tensor, x: Tensor, factor: Tensor) -> Tensor:
    """Return `value`, whose gradient times `factor` goes to `x` of the same shape."""
    return _SendGradient.apply(value, x, factor)


def linear_norm(value: Tensor, operation: Norm, scale: Tensor) -> Tensor:
    """Return the value of a norm with the gradient of the linear map that it is at a fixed deviation, 1 / `scale`."""
    return _LinearNorm.apply(value, operation.input, scale, operation)


def divided(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Return a quotient without gradient, 0 where the denominator is 0 (or so small that the quotient is no number)."""
    return (numerator.detach() / denominator.detach()).nan_to_num_(0.0, 0.0, 0.0)


def wide(value: Tensor) -> Tensor:
    """Return a value in float32 at least: sums of one sign overflow half precision where the output itself does not."""
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def stabilized(value: Tensor, parts: Tensor | float, epsilon: float) -> Tensor | float:
    """Return z / (parts * z + epsilon * sign(z)) with sign(0) = 1; at epsilon 0 simply 1 / parts, also where z is 0."""
    if epsilon == 0:
        return 1 / parts
    value = value.detach()
    total = parts * value
    share = value / (total + epsilon * torch.where(value < 0, -1.0, 1.0).to(value.dtype))
    return torch.where(total.isinf(), 1 / parts, share)  # a masked logit


class _SendGradient(torch.autograd.Function):
    """The value; its gradient times a factor goes to another tensor of the same shape."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, x: Tensor, factor: Tensor) -> Tensor:
        ctx.factor = factor
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, gradients[0] * ctx.factor, None


class _LinearNorm(torch.autograd.Function):
    """The value of a norm with the gradient of the linear map that it is once its deviation is fixed."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, x: Tensor, scale: Tensor, operation: Norm) -> Tensor:
        ctx.scale, ctx.shape = scale, x.shape
        # Without its tensors: they would be kept alive until the backward pass.
        ctx.weight, ctx.dims, ctx.centered, ctx.grouped = (
            operation.weight,
            operation.dims,
            operation.centered,
            operation.grouped,
        )
        ctx.mark_dirty(value)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = gradients[0] if ctx.weight is None else gradients[0] * ctx.weight
        dtype, gradient = gradient.dtype, ctx.grouped(gradient) * ctx.scale
        if ctx.centered:
            gradient -= gradient.mean(ctx.dims, keepdim=True)
        return None, gradient.reshape(ctx.shape).to(dtype), None, None
