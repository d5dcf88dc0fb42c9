"""One linear map as two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("split_linear")
def split_linear(model: nn.Module) -> nn.Module:
    """W x + b = U (S V' x) + b by the singular value decomposition of W, for every linear layer."""

    from axioms.rewrites.patterns.layers import is_linear, replace_modules
    from axioms.rewrites.patterns.modules import InTwo

    if not replace_modules(model, lambda module: InTwo(module) if is_linear(module) else None):
        raise NotApplicable("the model has no linear layer inside.")
    return model
