"""Rewrites that change no number: whatever a method knows of a value must survive them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from axioms.core.lazy import torch
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import Tensor, nn

    from axioms.engine.handlers.insert import NoOp


@rewrite("insert_views")
def insert_views(model: nn.Module) -> nn.Module:
    """x = x.clone() = x.view(-1).view(x.shape) = x.T.T = x[...] = cat(split(x)), before every call on x."""
    return _insert(model, _renew_by_views, _review)


@rewrite("insert_identities")
def insert_identities(model: nn.Module) -> nn.Module:
    """x = x * 1 = x / 1 = x + 0 = x.double().to(x.dtype) = cat([x]), before every call on x."""
    return _insert(model, _renew_by_identities, _unchanged)


def _insert(model: nn.Module, renew: NoOp, review: NoOp) -> nn.Module:
    """Make the forward pass of the model, which is a copy, insert no-ops."""
    from axioms.engine.handlers.insert import Insertion
    from axioms.rewrites.patterns.calls import run_under

    return run_under(model, partial(Insertion, renew, review))


def _review(x: Tensor) -> Tensor:
    """Return a view of all of x, by way of other views."""
    x = x.unsqueeze(0).squeeze(0)[...]
    return x.transpose(0, -1).transpose(0, -1)


def _renew_by_views(x: Tensor) -> Tensor:
    """Return a copy of x, by way of copies and views."""
    copy = _review(x.clone().contiguous().reshape(-1).view(x.shape))
    return torch.cat(copy.chunk(2, dim=-1), dim=-1) if x.dim() > 0 else copy


def _renew_by_identities(x: Tensor) -> Tensor:
    """Return x, computed anew."""
    same = x * 1 / 1 + 0
    cast = same.to(torch.float64).to(x.dtype)
    same = cast if cast.dtype == x.dtype else same  # a float64 run casts nothing down
    return torch.cat([same]) if x.dim() > 0 else same


def _unchanged(x: Tensor) -> Tensor:
    return x
