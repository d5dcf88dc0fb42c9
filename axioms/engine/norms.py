"""Torch's norms as operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from axioms.engine.operations import LINEAR, NORM, Linear, Norm, Operation
from axioms.engine.parser import Args, Kwargs, argument, parser


@parser("layer_norm")
def _layer_norm(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    value, shape = args[0], argument(args, kwargs, 1, "normalized_shape")
    weight, bias = argument(args, kwargs, 2, "weight"), argument(args, kwargs, 3, "bias")
    eps = argument(args, kwargs, 4, "eps", 1e-5)
    dims = tuple(range(-len(shape), 0))
    return Norm(NORM, name, lambda: func(*args, **kwargs), value, weight, bias, eps, dims, True, _same)


@parser("rms_norm")
def _rms_norm(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    value, shape, weight = args[0], argument(args, kwargs, 1, "normalized_shape"), argument(args, kwargs, 2, "weight")
    eps = argument(args, kwargs, 3, "eps")
    eps = torch.finfo(value.dtype).eps if eps is None else eps
    return Norm(
        NORM, name, lambda: func(*args, **kwargs), value, weight, None, eps, tuple(range(-len(shape), 0)), False, _same
    )


@parser("group_norm")
def _group_norm(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    value, groups = args[0], argument(args, kwargs, 1, "num_groups")
    weight, bias = argument(args, kwargs, 2, "weight"), argument(args, kwargs, 3, "bias")
    eps = argument(args, kwargs, 4, "eps", 1e-5)
    shape = (1, -1, *(1,) * (value.dim() - 2))
    weight, bias = (None if each is None else each.reshape(shape) for each in (weight, bias))
    return Norm(
        NORM,
        name,
        lambda: func(*args, **kwargs),
        value,
        weight,
        bias,
        eps,
        (-1,),
        True,
        lambda x: x.reshape(len(x), groups, -1),
    )


@parser("batch_norm")
def _batch_norm(name: str, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Operation | None:
    """In evaluation mode a batch norm is a linear map with a bias."""
    value, mean, variance = args[0], argument(args, kwargs, 1, "running_mean"), argument(args, kwargs, 2, "running_var")
    weight, bias = argument(args, kwargs, 3, "weight"), argument(args, kwargs, 4, "bias")
    if argument(args, kwargs, 5, "training", False) or mean is None:
        raise KeyError(name)
    scale = torch.rsqrt(variance + argument(args, kwargs, 7, "eps", 1e-5))
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    shape = (1, -1, *(1,) * (value.dim() - 2))
    return Linear(
        LINEAR, name, lambda: func(*args, **kwargs), value, scale.reshape(shape), shift.reshape(shape), torch.mul
    )


def _same(x: Tensor) -> Tensor:
    return x
