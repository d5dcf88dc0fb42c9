"""Softmax written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


@rewrite("written_softmax")
def written_softmax(model: nn.Module) -> nn.Module:
    """softmax(z) = exp(z - max z) / sum exp(z - max z), wherever a softmax is called."""
    from axioms.rewrites.patterns.calls import rewrite_calls, written_attention

    written = {"softmax": exp_over_sum, "scaled_dot_product_attention": written_attention(exp_over_sum)}
    return rewrite_calls(model, written, "softmax")


def exp_over_sum(input: Tensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """With the signature of `torch.nn.functional.softmax`."""
    import torch

    z = input if dtype is None else input.to(dtype)
    exponential = torch.exp(z - z.detach().amax(dim, keepdim=True))
    return exponential / exponential.sum(dim, keepdim=True)
