"""Rewriting torch functions that a model calls, whatever module calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from axioms.core.errors import NotApplicable

Written = Callable[..., Tensor]


class Calls(TorchFunctionMode):
    """While active, calls of some functions are made by others; these are seen by every mode outside."""

    def __init__(self, written: Mapping[str, Written]) -> None:
        super().__init__()
        self.written = written
        self.count = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        written = self.written.get(getattr(func, "__name__", ""))
        if written is None:
            return func(*args, **(kwargs or {}))
        self.count += 1
        return written(*args, **(kwargs or {}))


def under(model: nn.Module, mode: Callable[[], Calls], what: str) -> nn.Module:
    """The model with its forward pass under a mode; running it raises `NotApplicable` where the mode met no call."""
    plain = type(model).forward

    @functools.wraps(plain)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        with mode() as calls:
            result = plain(self, *args, **kwargs)
        if calls.count == 0:
            raise NotApplicable(f"the model computes no {what}.")
        return result

    model.forward = MethodType(forward, model)
    return model


def rewrite_calls(model: nn.Module, written: Mapping[str, Written], what: str) -> nn.Module:
    """The model with these functions written as others."""
    return under(model, functools.partial(Calls, written), what)


def written_attention(softmax: Written) -> Written:
    """`scaled_dot_product_attention` by einsum: Z = (scale Q) K' + mask, A = softmax(Z), O = A V."""

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
        if enable_gqa:
            group = query.shape[-3] // key.shape[-3]
            key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        logits = torch.einsum("...qd,...kd->...qk", query * factor, key)
        seen: Tensor | None = None
        if is_causal:
            seen = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            seen = attn_mask if seen is None else seen & attn_mask
        elif attn_mask is not None:
            logits = logits + attn_mask
        if seen is not None:  # the lowest finite number: a row in which nothing is seen has no NaN, and is zero below
            lowest = torch.zeros(seen.shape, dtype=logits.dtype, device=logits.device)
            logits = logits + lowest.masked_fill_(~seen, torch.finfo(logits.dtype).min)
        mixed = torch.einsum("...qk,...kd->...qd", softmax(logits, dim=-1), value)
        return mixed if seen is None else mixed * seen.any(dim=-1, keepdim=True)

    return attention
