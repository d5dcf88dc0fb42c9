"""Rewrites that leave the model's formula alone and change which code, or which precision, computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("eager_attention")
def eager_attention(model: nn.Module) -> nn.Module:
    """softmax(Q K') V by transformers' `eager` code instead of `sdpa`."""
    return switch_attention(model, "eager")


@rewrite("sdpa_attention")
def sdpa_attention(model: nn.Module) -> nn.Module:
    """softmax(Q K') V by transformers' `sdpa` code instead of `eager`."""
    return switch_attention(model, "sdpa")


@rewrite("cast_up")
def cast_up(model: nn.Module) -> nn.Module:
    """Casting up and back changes no number: norms and linear layers compute in float64, then back."""
    from axioms.rewrites.patterns.layers import is_linear, replace_some
    from axioms.rewrites.patterns.modules import CastUp
    from axioms.rewrites.patterns.norms import read_norm

    def replacement(module: nn.Module) -> nn.Module | None:
        return CastUp(module) if is_linear(module) or read_norm(module) is not None else None

    return replace_some(model, replacement, "norm and no linear layer inside")


def switch_attention(model: nn.Module, implementation: str) -> nn.Module:
    """Return the model with another of transformers' implementations of attention, or raise `NotApplicable`."""
    name = type(model).__name__
    current = getattr(getattr(model, "config", None), "_attn_implementation", None)
    switch = getattr(model, "set_attn_implementation", None)
    if switch is None or current is None:
        raise NotApplicable(f"{name} has no `set_attn_implementation`.")
    if current == implementation:
        raise NotApplicable(f"its attention is {implementation!r} already.")
    try:
        switch(implementation)
    except (ValueError, ImportError) as error:
        raise NotApplicable(f"{name} has no {implementation!r} attention: {error}") from None
    if model.config._attn_implementation != implementation:  # type: ignore[union-attr]  # transformers only logs a failure
        raise NotApplicable(f"{name} has no {implementation!r} attention.")
    return model
