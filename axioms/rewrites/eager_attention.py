"""Attention by the `eager` implementation of transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("eager_attention")
def eager_attention(model: nn.Module) -> nn.Module:
    """softmax(Q K') V by transformers' `eager` code instead of `sdpa`."""
    return switched(model, "eager")


def switched(model: nn.Module, wanted: str) -> nn.Module:
    """The model with another implementation of attention."""
    name = type(model).__name__
    now = getattr(getattr(model, "config", None), "_attn_implementation", None)
    switch = getattr(model, "set_attn_implementation", None)
    if switch is None or now is None:
        raise NotApplicable(f"{name} has no `set_attn_implementation`.")
    if now == wanted:
        raise NotApplicable(f"its attention is {wanted!r} already.")
    try:
        switch(wanted)
    except (ValueError, ImportError) as error:
        raise NotApplicable(f"{name} has no {wanted!r} attention: {error}") from None
    if model.config._attn_implementation != wanted:  # type: ignore[union-attr]  # transformers only logs that it could not
        raise NotApplicable(f"{name} has no {wanted!r} attention.")
    return model
