"""Attention blocks that no name gives away, recognized from what a forward pass computes.

Every output of a linear layer gets a number, and what only moves entries (views, transposes, chunks) moves the numbers
too. Where two of these meet in a product whose softmax weighs a third, and a linear layer reads the result head after
head, these are queries, keys, values and the output map: whether one layer gives all three or each has its own, and
whether the product is written out or `scaled_dot_product_attention`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from axioms.core.errors import AxiomsError
from axioms.engine import kinds
from axioms.engine.calls import CALLS, plain_name
from axioms.engine.mode import Handler, Mode
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.rewrites.patterns.channels import Channels, Label, Mixed, Observed, Scores, layers_of

EXAMPLE: ContextVar[Inputs | None] = ContextVar("example", default=None)
"""What the model is run on to see its calls; None where nothing is known."""
EQUATION = re.compile(r"(\w+),(\w+)->(\w+)")
PRODUCTS = ("matmul", "__matmul__", "bmm", "mm")
UNCHANGED = frozenset((kinds.SAME, kinds.SCALE))
KEPT_BY_SCORES = UNCHANGED | {kinds.SUM, kinds.FILL, kinds.JOIN}
"""What may happen to scores before their softmax: a scale, a mask."""


@contextmanager
def example_of(inputs: Inputs) -> Iterator[None]:
    """Say what a model may be run on while it is rewritten."""
    token = EXAMPLE.set(inputs)
    try:
        yield
    finally:
        EXAMPLE.reset(token)


class AttentionCalls(Handler):
    """Follows the outputs of linear layers through a forward pass."""

    def __init__(self, model: nn.Module) -> None:
        self.layers = {id(layer.weight): layer for layer in model.modules() if isinstance(layer, nn.Linear)}
        self.labels: dict[int, tuple[Tensor, Label]] = {}
        """By the id of a tensor, which is kept so that the id stays its own."""
        self.blocks: list[Observed] = []
        self.read_elsewhere: set[int] = set()
        """Layers whose outputs something else reads too: changing them would change more than the block."""

    def see(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of a call, labelled as far as it is followed."""
        name = getattr(func, "__name__", "")
        if name == "__iter__":
            return iter(self.see(torch.unbind, args, {}))
        value = func(*args, **kwargs)
        labels = [self._label(argument) for argument in (*args, *kwargs.values())]
        known = [label for label in labels if label is not None]
        if name == "linear":
            self._see_linear(args, kwargs, labels[0], value)
        elif known and self._is_number(value) and not self._follow(name, func, args, kwargs, labels, value):
            for label in known:
                self.read_elsewhere |= {id(layer) for layer in layers_of(label)}
        return value

    def _label(self, argument: Any) -> Label | None:
        kept = self.labels.get(id(argument))
        return None if kept is None else kept[1]

    def _give(self, value: Any, label: Label) -> bool:
        self.labels[id(value)] = (value, label)
        return True

    def _is_number(self, value: Any) -> bool:
        parts = value if isinstance(value, tuple | list) else [value]
        return any(isinstance(part, Tensor) and part.is_floating_point() for part in parts)

    def _see_linear(self, args: tuple[Any, ...], kwargs: dict[str, Any], read: Label | None, value: Tensor) -> None:
        layer = self.layers.get(id(args[1] if len(args) > 1 else kwargs.get("weight")))
        if layer is not None:
            self._give(value, Channels(layer, torch.arange(value.numel()).reshape(value.shape)))
        if isinstance(read, Mixed) and layer is not None:
            width = read.numbers.shape[-1]
            if bool((read.numbers == torch.arange(width)).all()) and layer.in_features == width:
                self.blocks.append(Observed(read.scores.query, read.scores.key, read.value, layer))
                return
        if read is not None:
            self.read_elsewhere |= {id(layer) for layer in layers_of(read)}

    def _follow(
        self,
        name: str,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        labels: list[Label | None],
        value: Any,
    ) -> bool:
        """Label the value of a call; return False where what was labelled is lost."""
        row = CALLS.get(name) or CALLS.get(plain_name(name))
        kind = kinds.OTHER if row is None else row.kind
        label = next(label for label in labels if label is not None)
        alone = sum(other is not None for other in labels) == 1
        if name == "scaled_dot_product_attention":
            channels = [part for part in labels if isinstance(part, Channels)]
            if len(channels) != 3 or None in labels[:3]:
                return False  # also where a mask is made of what a layer gives
            return self._mix(Scores(channels[0], channels[1], True), channels[2], value)
        if name in PRODUCTS and len(labels) == 2:
            return self._multiply(labels[0], labels[1], value)
        if name == "einsum" and len(labels) == 3 and isinstance(args[0], str):
            return self._see_einsum(args[0], labels[1], labels[2], value)
        if isinstance(label, Scores):
            if kind == kinds.SOFTMAX:
                return self._give(value, Scores(label.query, label.key, True))
            return alone and kind in (UNCHANGED if label.is_softmax else KEPT_BY_SCORES) and self._give(value, label)
        if not alone or kind not in (kinds.MOVE, *UNCHANGED):
            return False
        if kind == kinds.MOVE:
            return self._move(label, func, args, kwargs, value)
        scale = next((other for other in args[1:] if isinstance(other, Tensor)), None)
        is_same = value.shape == label.numbers.shape and (scale is None or scale.numel() == 1)
        return is_same and self._give(value, label)

    def _move(
        self, label: Channels | Mixed, func: Callable[..., Any], args: Any, kwargs: dict[str, Any], value: Any
    ) -> bool:
        """Move the numbers of the channels as the call moves their values."""
        numbers = [label.numbers if self._label(argument) is label else argument for argument in args]
        try:
            moved = func(*numbers, **kwargs)
        except RuntimeError:  # strides that only the values have
            return False
        values, parts = (value, moved) if isinstance(value, tuple | list) else ([value], [moved])
        for entries, part in zip(values, parts, strict=True):
            followed: Label
            if isinstance(label, Channels):
                followed = Channels(label.layer, part)
            else:
                followed = Mixed(label.scores, label.value, part)
            self._give(entries, followed)
        return True

    def _multiply(self, left: Label | None, right: Label | None, value: Tensor) -> bool:
        if isinstance(left, Channels) and isinstance(right, Channels):
            return self._give(value, Scores(left, Channels(right.layer, right.numbers.transpose(-2, -1))))
        if isinstance(left, Scores) and left.is_softmax and isinstance(right, Channels):
            return self._mix(left, right, value)
        return False

    def _see_einsum(self, equation: str, left: Label | None, right: Label | None, value: Tensor) -> bool:
        """Read an einsum as a matrix product, with the dimensions that both operands keep before the last two."""
        match = EQUATION.fullmatch(equation.replace(" ", ""))
        if match is None or not isinstance(right, Channels):
            return False
        first, second, result = match.groups()
        batch = [letter for letter in result if letter in first and letter in second]
        rows = [letter for letter in first if letter not in second]
        columns = [letter for letter in second if letter not in first]
        inner = [letter for letter in first if letter in second and letter not in result]
        if not len(rows) == len(columns) == len(inner) == 1:
            return False
        ordered = Channels(right.layer, right.numbers.permute([second.index(x) for x in [*batch, *inner, *columns]]))
        back = [[*batch, *rows, *columns].index(letter) for letter in result]
        if isinstance(left, Channels):
            numbers = left.numbers.permute([first.index(letter) for letter in [*batch, *rows, *inner]])
            return back == sorted(back) and self._multiply(Channels(left.layer, numbers), ordered, value)
        if not isinstance(left, Scores) or first != "".join([*batch, *rows, *inner]):
            return False
        product = value.permute([result.index(letter) for letter in [*batch, *rows, *columns]])
        mixed = self._multiply(left, ordered, product) and self._label(product)
        if not isinstance(mixed, Mixed):
            return False
        return self._give(value, Mixed(mixed.scores, mixed.value, mixed.numbers.permute(back).contiguous()))

    def _mix(self, scores: Scores, value: Channels, mixed: Tensor) -> bool:
        heads = scores.query.heads
        if heads is None or heads.shape[-1] != mixed.shape[-1] or scores.query.numbers.dim() != mixed.dim():
            return False
        number = torch.zeros(scores.query.layer.out_features, dtype=torch.long)
        number[heads[:, 0]] = torch.arange(len(heads))
        first = scores.query.numbers[..., :1, :1] % scores.query.layer.out_features
        width = heads.shape[-1]
        numbers = (number[first] * width + torch.arange(width)).expand(mixed.shape).contiguous()
        return self._give(mixed, Mixed(scores, value, numbers))


def observed_blocks(model: nn.Module) -> list[Observed]:
    """Return the attention blocks that a forward pass on the example shows, each by layers that no other reads."""
    inputs = EXAMPLE.get()
    if inputs is None:
        return []
    calls = AttentionCalls(model)
    try:
        with torch.no_grad(), Mode(calls):
            Model(model)(inputs)
    except (AxiomsError, RuntimeError):
        return []
    used = [id(layer) for block in calls.blocks for layer in {id(x.layer): x.layer for x in _maps(block)}.values()]
    once = [block for block in calls.blocks if all(used.count(id(part.layer)) == 1 for part in _maps(block))]
    return [block for block in once if not any(id(part.layer) in calls.read_elsewhere for part in _maps(block))]


def _maps(block: Observed) -> tuple[Channels, Channels, Channels]:
    return block.query, block.key, block.value
