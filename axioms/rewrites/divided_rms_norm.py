"""RMSNorm with a division."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("divided_rms_norm")
def divided_rms_norm(model: nn.Module) -> nn.Module:
    """x rsqrt(mean x^2 + eps) = x / sqrt(mean x^2 + eps)."""
    from axioms.rewrites.patterns.layers import replace_modules
    from axioms.rewrites.patterns.modules import WrittenNorm
    from axioms.rewrites.patterns.norms import read_norm

    def replacement(module: nn.Module) -> nn.Module | None:
        norm = read_norm(module)
        return WrittenNorm(norm) if norm is not None and not norm.centered else None

    if not replace_modules(model, replacement):
        raise NotApplicable("the model has no RMSNorm.")
    return model
