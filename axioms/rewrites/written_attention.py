"""Attention written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.registry import rewrite

if TYPE_CHECKING:
    from torch import nn


@rewrite("written_attention")
def written_attention(model: nn.Module) -> nn.Module:
    """scaled_dot_product_attention = einsum, scale on the queries, mask, softmax, einsum.

    Works wherever that function is called; a model of transformers is told to call it.
    """
    import torch

    from axioms.core.errors import NotApplicable
    from axioms.rewrites.eager_attention import switched
    from axioms.rewrites.patterns import calls

    if getattr(getattr(model, "config", None), "_attn_implementation", None) == "eager":
        try:
            model = switched(model, "sdpa")
        except NotApplicable:
            raise NotApplicable("its attention is written out already.") from None
    written = {"scaled_dot_product_attention": calls.written_attention(torch.softmax)}
    return calls.rewrite_calls(model, written, "scaled_dot_product_attention")
