"""A branch that adds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("add_zero_branch")
def add_zero_branch(model: nn.Module) -> nn.Module:
    """W x + b = W x + b + B x + (-B) x, for every linear layer, with a random B of W's size."""
    from axioms.rewrites.patterns.layers import is_linear, replace_modules
    from axioms.rewrites.patterns.modules import WithZero

    if not replace_modules(model, lambda module: WithZero(module) if is_linear(module) else None):
        raise NotApplicable("the model has no linear layer inside.")
    return model
