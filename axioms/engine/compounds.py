"""Torch functions that are several operations at once, written out in those, so that each of them gets its rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def _mean_like(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the mean that goes with a variance: a sum to the rules, and not held constant with the deviation."""
    return input.mean(None if isinstance(dim, bool) else dim, keepdim=keepdim)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Write a layer whose weights are computed from the input as a product of variables."""
    product = input @ weight.transpose(-2, -1)
    return product if bias is None else product + bias


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Write `addmm` as a product and a sum."""
    return beta * input + alpha * (mat1 @ mat2)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Write `baddbmm` as a product and a sum."""
    return beta * input + alpha * (batch1 @ batch2)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Write `scaled_dot_product_attention` out: Z = Q K' scale + mask, A = softmax(Z), O = A V."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    logits = (query @ key.transpose(-2, -1)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:  # torch takes no mask beside it, and every row keeps its first key
        above = torch.full(logits.shape[-2:], torch.finfo(logits.dtype).min, dtype=logits.dtype, device=logits.device)
        return torch.softmax(logits + above.triu_(1), dim=-1) @ value
    if attn_mask is None:
        return torch.softmax(logits, dim=-1) @ value
    if attn_mask.dtype != torch.bool:
        return torch.softmax(logits + attn_mask, dim=-1) @ value
    # The lowest finite number instead of -inf, so that a row in which everything is masked has no NaN; its output is 0.
    # Added and not filled in, as eager attention does: rules that stabilize sums then see the same sum.
    lowest = torch.zeros(attn_mask.shape, dtype=logits.dtype, device=logits.device)
    lowest.masked_fill_(~attn_mask, torch.finfo(logits.dtype).min)
    return torch.softmax(logits + lowest, dim=-1) @ value * attn_mask.any(dim=-1, keepdim=True)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Write `addcmul` as a product and a sum."""
    return input + value * (tensor1 * tensor2)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Write `outer` as a product entry by entry."""
    return input.unsqueeze(-1) * vec2.unsqueeze(-2)


def var_mean(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Write `var_mean` as its two functions."""
    return torch.var(*args, **kwargs), _mean_like(*args, **kwargs)


def std_mean(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Write `std_mean` as its two functions."""
    return torch.std(*args, **kwargs), _mean_like(*args, **kwargs)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Write `glu` as a sigmoid and a product."""
    signal, gate = input.chunk(2, dim=dim)
    return F.sigmoid(gate) * signal


def iterate(tensor: Tensor) -> Iterator[Tensor]:
    """Write a loop over a tensor as `unbind`."""
    return iter(tensor.unbind(0))


def opened(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of torch.nn.functional that does not offer itself to modes as one call, only what it calls."""
    body = FunctionType(
        function.__code__, {**vars(F), "has_torch_function": lambda arguments: False}, argdefs=function.__defaults__
    )
    body.__kwdefaults__ = function.__kwdefaults__
    return body


multi_head_attention = opened(F.multi_head_attention_forward)
"""The attention of `nn.MultiheadAttention`, which torch writes in Python: projections, attention, projection."""
