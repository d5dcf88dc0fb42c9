"""Calls of torch's norms to operations."""

from __future__ import annotations

import torch
from torch import Tensor

from axioms.engine.kinds import LINEAR, NORM
from axioms.engine.operations import Linear, Norm, Operation
from axioms.engine.parse import Call, Unreadable


def read_layer_norm(call: Call) -> Operation:
    """Read a layer norm."""
    shape, weight, bias = (call.argument(i, n) for i, n in ((1, "normalized_shape"), (2, "weight"), (3, "bias")))
    dims = tuple(range(-len(shape), 0))
    eps = call.argument(4, "eps", 1e-5)
    return Norm(NORM, call.name, call.run, call.argument(0, "input"), weight, bias, eps, dims, True, _ungrouped)


def read_rms_norm(call: Call) -> Operation:
    """Read an RMS norm, which does not subtract the mean."""
    x, shape, weight = (call.argument(i, n) for i, n in ((0, "input"), (1, "normalized_shape"), (2, "weight")))
    eps = call.argument(3, "eps")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return Norm(NORM, call.name, call.run, x, weight, None, eps, tuple(range(-len(shape), 0)), False, _ungrouped)


def read_group_norm(call: Call) -> Operation:
    """Read a norm over groups of channels."""
    x, groups = call.argument(0, "input"), call.argument(1, "num_groups")
    shape = (1, -1, *(1,) * (x.dim() - 2))
    weight, bias = (
        None if parameter is None else parameter.reshape(shape)
        for parameter in (call.argument(2, "weight"), call.argument(3, "bias"))
    )
    eps = call.argument(4, "eps", 1e-5)

    def grouped(value: Tensor) -> Tensor:
        return value.reshape(len(value), groups, -1)

    return Norm(NORM, call.name, call.run, x, weight, bias, eps, (-1,), True, grouped)


def read_batch_norm(call: Call) -> Operation:
    """Read a batch norm in evaluation mode, which is a linear map with a bias."""
    order = ("input", "running_mean", "running_var", "weight", "bias")
    if call.func is torch.batch_norm:  # not torch.nn.functional's, which has another order
        order = ("input", "weight", "bias", "running_mean", "running_var")
    given = {name: call.argument(place, name) for place, name in enumerate(order)}
    x, mean, variance, weight, bias = (
        given[name] for name in ("input", "running_mean", "running_var", "weight", "bias")
    )
    if call.argument(5, "training", False) or mean is None:
        raise Unreadable
    scale = torch.rsqrt(variance + call.argument(7, "eps", 1e-5))
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    shape = (1, -1, *(1,) * (x.dim() - 2))
    return Linear(LINEAR, call.name, call.run, x, scale.reshape(shape), shift.reshape(shape), torch.mul)


def _ungrouped(value: Tensor) -> Tensor:
    return value
