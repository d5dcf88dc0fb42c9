"""A product of three, grouped the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("reassociate")
def reassociate(model: nn.Module) -> nn.Module:
    """(A B) C = A (B C) for matrix products of three computed values: in linear attention, (QK')V = Q(K'V)."""
    from axioms.rewrites.patterns.calls import under
    from axioms.rewrites.patterns.products import Regrouped

    return under(model, Regrouped, "matrix product of three computed values without a softmax in between")
