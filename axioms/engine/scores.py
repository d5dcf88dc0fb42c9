"""Attention without names: what a contraction of two variables puts out, and what becomes of it.

Q K' is a contraction of two variables. It stays *scores* while it is scaled, masked, biased, capped or moved about,
until a softmax (however it is written) makes weights of it or a linear map makes something else of it. A router's or
a classifier's softmax is fed by a linear map, so it is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from axioms.engine.decomposed import attention
from axioms.engine.operations import variables

SCORES = "_axioms_scores"
CONTRACTIONS = frozenset("matmul __matmul__ __rmatmul__ mm bmm baddbmm einsum".split())
SOFTMAXES = frozenset("softmax _safe_softmax log_softmax logsumexp".split())
MAKES_OTHER = frozenset("linear addmm conv1d conv2d conv3d layer_norm rms_norm group_norm".split())


class Following(TorchFunctionMode):
    """While active, marks scores. What `weighted` returns takes the place of a softmax or an exponential of scores."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "scaled_dot_product_attention":
            with self:  # its product and its softmax are calls of their own
                return attention(*args, **kwargs)
        if name in CONTRACTIONS:
            value = func(*args, **kwargs)
            if sum(1 for _ in variables((*args, *kwargs.values()))) > 1:
                setattr(value, SCORES, True)
            return value
        if name in MAKES_OTHER or not any(hasattr(each, SCORES) for each in (*args, *kwargs.values())):
            return func(*args, **kwargs)
        scores = args[0] if args else next(iter(kwargs.values()))
        if name in SOFTMAXES or (name == "exp" and hasattr(scores, SCORES)):
            return self.weighted(name, func, args, kwargs)
        value = func(*args, **kwargs)
        if isinstance(value, Tensor) and value.is_floating_point():
            setattr(value, SCORES, True)
        return value

    def weighted(self, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """The value of a softmax, log-softmax, log-sum-exp or exponential of scores; it is not scores any more."""
        raise NotImplementedError
