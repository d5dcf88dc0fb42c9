"""Torch functions to operations: what a call does with its variables, whatever it is called.

An operand is a variable if it depends on the input. A product of two variables is the bilinear operation;
a product with a constant is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

LINEAR = "linear"
SUM = "sum"
PRODUCT = "product"
SOFTMAX = "softmax"
PASSIVE = "passive"
UNKNOWN = "unknown"

ELEMENTWISE_PRODUCTS = frozenset({"mul", "__mul__", "__rmul__", "multiply"})
CONTRACTIONS = frozenset({"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "einsum"})
LINEAR_LAYERS = frozenset({"linear"})
SOFTMAXES = frozenset({"softmax"})
SUMS = frozenset({"add", "__add__", "__radd__", "sub", "__sub__", "__rsub__", "sum", "mean", "cumsum"})
DIVISIONS = frozenset({"div", "__truediv__", "true_divide"})
PASSIVES = frozenset(
    """__get__ __set__ __getitem__ __neg__ __len__ __iter__ __hash__ __repr__ __format__ neg view reshape view_as
    transpose permute swapaxes movedim t unsqueeze squeeze expand expand_as repeat repeat_interleave tile flatten
    unflatten unbind split chunk narrow select index_select gather cat concat concatenate stack contiguous clone
    roll flip masked_fill where to type type_as float double half bfloat16 pad dropout detach size dim numel
    is_floating_point stride is_contiguous storage_offset data_ptr element_size ndimension requires_grad_ eq ne lt le
    gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ isfinite isnan any all argmax""".split()
)
"""Calls that move, copy or compare numbers: each value goes to where it goes, and the plain gradient says so."""


@dataclass(frozen=True)
class Operation:
    """One call of the forward pass, as its rule sees it."""

    kind: str
    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def forward(self) -> Any:
        """The value, with torch's own gradient."""
        return self.call(*self.args, **self.kwargs)

    def forward_with(self, replace: Callable[[Tensor], Tensor]) -> Any:
        """The value with every operand that is a variable replaced."""
        args = tuple(_map(value, replace) for value in self.args)
        return self.call(*args, **{name: _map(value, replace) for name, value in self.kwargs.items()})

    @property
    def variables(self) -> list[Tensor]:
        """The operands that depend on the input, in order."""
        return list(variables((*self.args, *self.kwargs.values())))


def variables(values: Iterable[Any]) -> Iterable[Tensor]:
    """The tensors among `values`, lists included, that depend on the input."""
    for value in values:
        if isinstance(value, Tensor):
            if value.requires_grad:
                yield value
        elif isinstance(value, list | tuple):
            yield from variables(value)


def _map(value: Any, replace: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return replace(value) if value.requires_grad else value
    if isinstance(value, list | tuple):
        return type(value)(_map(item, replace) for item in value)
    return value


def classify(name: str, operands: int, kwargs: Mapping[str, Any], args: tuple[Any, ...]) -> str:
    """The kind of a call with `operands` variables among its arguments."""
    if operands == 0 or name in PASSIVES:
        return PASSIVE
    if name in ELEMENTWISE_PRODUCTS:
        return PRODUCT if operands > 1 else PASSIVE
    if name in CONTRACTIONS:
        return PRODUCT if operands > 1 else LINEAR
    if name in LINEAR_LAYERS:
        return LINEAR if operands == 1 else UNKNOWN
    if name in SUMS:
        return SUM
    if name in SOFTMAXES:
        return SOFTMAX
    if name in DIVISIONS:
        numerator_only = operands == 1 and isinstance(args[0], Tensor) and args[0].requires_grad
        return PASSIVE if numerator_only else UNKNOWN
    return UNKNOWN
