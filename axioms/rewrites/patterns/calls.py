"""Rewriting torch functions that a model calls, whatever module calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable
from axioms.engine.mode import Handler, Mode
from axioms.rewrites.patterns.layers import replace_modules
from axioms.rewrites.patterns.modules import Written

Function = Callable[..., Tensor]


class ReplacedCalls(Handler):
    """Computes some functions by others, whose torch calls every mode outside sees."""

    def __init__(self, written: Mapping[str, Function], what: str) -> None:
        self.written, self.what = written, what
        self.count = 0

    def leave(self) -> None:
        """Raise `NotApplicable` after a forward pass in which nothing was replaced."""
        if self.count == 0:
            raise NotApplicable(f"the model computes no {self.what}.")

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of a call, by the other function where there is one."""
        written = self.written.get(getattr(func, "__name__", ""))
        if written is None:
            return func(*args, **kwargs)
        self.count += 1
        return written(*args, **kwargs)


def run_under(model: nn.Module, make: Callable[[], Handler]) -> nn.Module:
    """Return the model with each of its forward passes under a mode with a new handler."""
    plain = type(model).forward

    @functools.wraps(plain)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        handler = make()
        with Mode(handler):
            result = plain(self, *args, **kwargs)
        handler.leave()
        return result

    model.forward = MethodType(forward, model)  # bound, so that a copy of the model runs its own
    return model


def rewrite_calls(model: nn.Module, written: Mapping[str, Function], what: str) -> nn.Module:
    """Return the model with these torch functions computed by others."""
    return run_under(model, functools.partial(ReplacedCalls, written, what))


def rewrite_activation(
    model: nn.Module, formula: Callable[[nn.Module], Any], calls: Mapping[str, Function], what: str
) -> nn.Module:
    """Return the model with its activation modules written out; where it has none, the functions that it calls.

    `formula` gives the function of a module, or None where the module is another activation or none.
    """

    def replacement(module: nn.Module) -> nn.Module | None:
        function = formula(module)
        return None if function is None else Written(function)

    return model if replace_modules(model, replacement) else rewrite_calls(model, calls, what)


def attention_by_einsum(softmax: Function) -> Function:
    """Return `scaled_dot_product_attention` by einsum: Z = (scale Q) K' + mask, A = softmax(Z), O = A V."""

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
            seen = attn_mask  # torch takes no mask where it is causal
        elif attn_mask is not None:
            logits = logits + attn_mask
        if seen is not None:  # the lowest finite number: a row in which nothing is seen has no NaN, and is zero below
            lowest = torch.zeros(seen.shape, dtype=logits.dtype, device=logits.device)
            logits = logits + lowest.masked_fill_(~seen, torch.finfo(logits.dtype).min)
        mixed = torch.einsum("...qk,...kd->...qd", softmax(logits, dim=-1), value)
        return mixed if seen is None else mixed * seen.any(dim=-1, keepdim=True)

    return attention
