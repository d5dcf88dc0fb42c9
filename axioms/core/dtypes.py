"""A float64 run stays float64.

Many models cast to float32 inside norms and softmax, which alone puts 1e-7 between two ways of writing the same thing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

LOWER = (torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32)
CASTS = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16}


class KeepFloat64(TorchFunctionMode):
    """While active, casting float64 to a lower precision returns the tensor itself, and integers become float64.

    Positions are integers that older models cast by `float()` and multiply with frequencies, which stay float64.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if args and isinstance(args[0], Tensor) and args[0].dtype == torch.float64:
            if name in CASTS or (name in ("to", "type") and _lower(args[1:], kwargs)):
                return args[0]
            if name == "type_as" and args[1].dtype in LOWER:
                return args[0]
            if kwargs.get("dtype") in LOWER:  # softmax(x, dtype=torch.float32), sum(..., dtype=...)
                kwargs = {**kwargs, "dtype": torch.float64}
        elif args and isinstance(args[0], Tensor) and name == "float" and args[0].dtype in INTEGERS:
            return args[0].double()
        return func(*args, **kwargs)


def _lower(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    wanted = [*args, *kwargs.values()]
    return any(each in LOWER if isinstance(each, torch.dtype) else _tensor_of_lower(each) for each in wanted)


def _tensor_of_lower(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype in LOWER


def keep_float64(features: Tensor) -> AbstractContextManager[Any]:
    """The mode where the features are float64, else nothing."""
    return KeepFloat64() if features.dtype == torch.float64 else nullcontext()
