"""Rewrites that write a function out by its formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from axioms.core.errors import NotApplicable
from axioms.core.registry import rewrite
from axioms.rewrites.backend import switch_attention

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

EXACT_GELU = ("GELUActivation", "PytorchGELU")
TANH_GELU = ("BloomGelu", "NewGELUActivation", "GELUTanh", "PytorchGELUTanh", "FastGELUActivation")


@rewrite("written_softmax")
def written_softmax(model: nn.Module) -> nn.Module:
    """softmax(z) = exp(z - max z) / sum exp(z - max z), wherever a softmax is called."""
    from axioms.rewrites.patterns.calls import attention_by_einsum, rewrite_calls

    written = {"softmax": exp_over_sum, "scaled_dot_product_attention": attention_by_einsum(exp_over_sum)}
    return rewrite_calls(model, written, "softmax")


@rewrite("written_attention")
def written_attention(model: nn.Module) -> nn.Module:
    """scaled_dot_product_attention = einsum, scale on the queries, mask, softmax, einsum.

    Works wherever that function is called; a model of transformers is told to call it.
    """
    import torch

    from axioms.rewrites.patterns.calls import attention_by_einsum, rewrite_calls

    if getattr(getattr(model, "config", None), "_attn_implementation", None) == "eager":
        try:
            model = switch_attention(model, "sdpa")
        except NotApplicable:
            raise NotApplicable("its attention is written out already.") from None
    written = {"scaled_dot_product_attention": attention_by_einsum(torch.softmax)}
    return rewrite_calls(model, written, "scaled_dot_product_attention")


@rewrite("written_gelu")
def written_gelu(model: nn.Module) -> nn.Module:
    """x (1 + erf(x / sqrt 2)) / 2, or x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 where that is used.

    The two differ by 5e-4, so each stays what it was.
    """
    from axioms.rewrites.patterns.calls import rewrite_activation

    def formula(module: nn.Module) -> object:
        name = type(module).__name__
        if name in EXACT_GELU or (name == "GELU" and getattr(module, "approximate", "none") == "none"):
            return gelu_by_erf
        return gelu_by_tanh if name in TANH_GELU or name == "GELU" else None

    return rewrite_activation(model, formula, {"gelu": gelu}, "GELU")


@rewrite("written_silu")
def written_silu(model: nn.Module) -> nn.Module:
    """silu(x) = x sigmoid(x)."""
    from axioms.rewrites.patterns.calls import rewrite_activation

    def formula(module: nn.Module) -> object:
        return times_sigmoid if type(module).__name__ in ("SiLU", "SiLUActivation") else None

    return rewrite_activation(model, formula, {"silu": times_sigmoid}, "SiLU")


@rewrite("written_layer_norm")
def written_layer_norm(model: nn.Module) -> nn.Module:
    """layer_norm(x) = (x - mean x) / sqrt(mean (x - mean x)^2 + eps) * gain + bias."""
    from axioms.rewrites.patterns.layers import replace_some
    from axioms.rewrites.patterns.modules import WrittenNorm
    from axioms.rewrites.patterns.norms import read_norm

    def replacement(module: nn.Module) -> nn.Module | None:
        norm = read_norm(module)
        return WrittenNorm(norm) if norm is not None and norm.is_centered else None

    return replace_some(model, replacement, "LayerNorm")


@rewrite("divided_rms_norm")
def divided_rms_norm(model: nn.Module) -> nn.Module:
    """x rsqrt(mean x^2 + eps) = x / sqrt(mean x^2 + eps)."""
    from axioms.rewrites.patterns.layers import replace_some
    from axioms.rewrites.patterns.modules import WrittenNorm
    from axioms.rewrites.patterns.norms import read_norm

    def replacement(module: nn.Module) -> nn.Module | None:
        norm = read_norm(module)
        return WrittenNorm(norm) if norm is not None and not norm.is_centered else None

    return replace_some(model, replacement, "RMSNorm")


def exp_over_sum(input: Tensor, dim: int = -1, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> Tensor:
    """Return softmax(input) by its formula, with the signature of `torch.nn.functional.softmax`."""
    import torch

    z = input if dtype is None else input.to(dtype)
    exponential = torch.exp(z - z.detach().amax(dim, keepdim=True))
    return exponential / exponential.sum(dim, keepdim=True)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return gelu(input) by its formula, with the signature of `torch.nn.functional.gelu`."""
    return gelu_by_erf(input) if approximate == "none" else gelu_by_tanh(input)


def gelu_by_erf(x: Tensor) -> Tensor:
    """Return x Phi(x)."""
    import torch

    return x * (0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))))


def gelu_by_tanh(x: Tensor) -> Tensor:
    """Return Hendrycks and Gimpel's approximation of x Phi(x)."""
    import torch

    return x * (0.5 * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))


def times_sigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return silu(input) by its formula, with the signature of `torch.nn.functional.silu`."""
    import torch

    return input * torch.sigmoid(input)
