"""Linear maps in float32 by oneDNN, where that is faster: torch hands them to MKL.

On an AMD processor with AVX-512, MKL takes more than twice the time that oneDNN takes for the same product (`pytest
benchmarks/test_products.py` measures it), and linear maps are nearly all that a Transformer computes. Both round as
float32 rounds. It depends on the processor and on the shape alone whether a product is taken so, and torch's own switch
(`torch.backends.mkldnn.flags(enabled=False)`) turns it off. Other makers' processors were not measured and are left to
torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

WORTHWHILE = 1 << 22
"""Multiplications that make up for the time it takes to come here."""
WEIGHTS = 1 << 16
"""Entries that a weight of such a product has at least: models with smaller ones are not watched."""
HOOKS_ON_SAVED = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
"""What tells whether hooks pack the tensors that autograd saves; since torch 2.8."""


class FastProducts(TorchFunctionMode):
    """While active, linear maps whose weights are constants are computed by oneDNN, in both directions."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.linear and 2 <= len(args) <= 3 and not kwargs:
            x, weight, bias = args if len(args) == 3 else (*args, None)
            if _is_worthwhile(x, weight, bias):
                return _multiplied(x, weight, bias)
        elif func is torch.addmm and len(args) == 3 and not kwargs:
            bias, x, weight = args
            if _is_matrix(x) and _is_matrix(weight) and _is_worthwhile(x, weight.t(), bias):
                return _multiplied(x, weight.t(), bias)
        return func(*args, **(kwargs or {}))


def fast_products(weights: Iterable[Tensor]) -> AbstractContextManager[Any]:
    """Return the mode for a model with these weights; nothing where it would not be faster, or is active already."""
    if not _is_faster_here() or not any(_is_weight(weight) for weight in weights):
        return nullcontext()
    is_active = any(isinstance(mode, FastProducts) for mode in _get_current_function_mode_stack())
    return nullcontext() if is_active else FastProducts()


def _is_faster_here() -> bool:
    has_it = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    is_wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return has_it and is_wide and HOOKS_ON_SAVED is not None and _is_made_by_amd()


@cache
def _is_made_by_amd() -> bool:
    """Tell who made the processor, where the system says so: nothing in Python does."""
    try:
        return "AuthenticAMD" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def _is_weight(value: Any) -> bool:
    """Tell whether a tensor is a weight with which oneDNN can take products."""
    return _is_plain(value) and value.numel() >= WEIGHTS and _is_matrix(value)


def _is_matrix(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 2


def _is_plain(value: Any) -> bool:
    is_tensor = type(value) in (Tensor, torch.nn.Parameter)
    return is_tensor and value.dtype == torch.float32 and value.device.type == "cpu" and value.layout == torch.strided


def _is_worthwhile(x: Any, weight: Any, bias: Any) -> bool:
    """Tell whether oneDNN takes this product, and whether nobody else watches or transforms it."""
    if not (_is_plain(x) and _is_weight(weight) and (bias is None or _is_plain(bias))):
        return False
    if x.dim() < 2 or x.shape[-1] != weight.shape[1] or x.numel() * weight.shape[0] < WORTHWHILE:
        return False
    if bias is not None and bias.shape != weight.shape[:1]:
        return False
    if torch.is_grad_enabled() and (weight.requires_grad or (bias is not None and bias.requires_grad)):
        return False
    return not _is_watched() and bool(torch.backends.mkldnn.enabled)


def _is_watched() -> bool:
    """Tell whether modes count or fake the calls below torch's functions, or transforms differentiate them.

    Or whether hooks pack what autograd saves: checkpoints compute it again in the backward pass, where no mode is
    active, and count on the same tensors being saved there.
    """
    assert HOOKS_ON_SAVED is not None
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
        or torch.is_autocast_enabled("cpu")
        or HOOKS_ON_SAVED(True) is not None
    )


def _multiplied(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if torch.is_grad_enabled() and x.requires_grad:
        return _Linear.apply(x, weight, bias)
    return _by_onednn(x, weight, bias)


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    # oneDNN reads a bias without its strides.
    bias = None if bias is None else bias.contiguous()
    value = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    place = value.untyped_storage(), value.storage_offset(), value.shape, value.stride()
    return value.new_empty(0).set_(*place)  # no view of what oneDNN made: models may write to it in place


class _Linear(torch.autograd.Function):
    """A linear map and the gradient of its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)  # so that a weight that changes before the backward pass is torch's error
        ctx.set_materialize_grads(False)  # where nothing arrives, nothing is computed
        return _by_onednn(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = gradients
        (weight,) = ctx.saved_tensors
        if gradient is None:
            return None, None, None
        is_batched = torch._C._functorch.is_legacy_batchedtensor(gradient)  # by is_grads_batched
        return gradient @ weight if is_batched else _multiplied(gradient, weight.t(), None), None, None
