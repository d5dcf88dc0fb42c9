"""Matrix products of three, grouped the other way while a model runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from axioms.rewrites.patterns.calls import ReplacedCalls

PRODUCTS = ("matmul", "__matmul__", "bmm")


class Regrouped(ReplacedCalls):
    """Computes the product of a product and another value the other way round."""

    def __init__(self) -> None:
        super().__init__({}, "matrix product of three computed values without a softmax in between")
        self.factors: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        """By the identity of a product: itself (which keeps the identity its own) and its factors."""

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of a call, regrouped where it is a product of a product."""
        if getattr(func, "__name__", "") not in PRODUCTS or len(args) != 2:
            return func(*args, **kwargs)
        left, right = args
        if id(left) in self.factors:
            _, first, second = self.factors[id(left)]
            self.count += 1
            return first @ (second @ right)
        if id(right) in self.factors:
            _, first, second = self.factors[id(right)]
            self.count += 1
            return (left @ first) @ second
        value = func(left, right)
        if not isinstance(left, nn.Parameter) and not isinstance(right, nn.Parameter):
            self.factors[id(value)] = (value, left, right)
        return value
