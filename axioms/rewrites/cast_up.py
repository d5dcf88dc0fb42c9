"""Layers in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("cast_up")
def cast_up(model: nn.Module) -> nn.Module:
    """Casting up and back changes no number: norms and linear layers compute in float64, then back."""
    from axioms.rewrites.patterns.layers import is_linear, replace_modules
    from axioms.rewrites.patterns.modules import CastUp
    from axioms.rewrites.patterns.norms import read_norm

    def replacement(module: nn.Module) -> nn.Module | None:
        return CastUp(module) if is_linear(module) or read_norm(module) is not None else None

    if not replace_modules(model, replacement):
        raise NotApplicable("the model has no norm and no linear layer inside.")
    return model
