"""What a forward pass does, written down call by call: attention weights with their values, projections and norms.

Calls are recognized as operations, so no model class is named here. Nothing changes in the model or its outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from axioms.engine import facts, kinds
from axioms.engine.mode import Interpreter, Mode
from axioms.engine.operations import Linear, Norm, Operation, Pointwise, Product, Softmax
from axioms.engine.parse import Call
from axioms.engine.where import Where
from axioms.model.inputs import Inputs
from axioms.model.module import Model

MATMUL = re.compile(r"(\S*)(\w)(\w),\1\3(\w)->\1\2\4$")
"""An einsum that is A V; one in another layout, such as `bnij,bjnd->bind`, is not read as attention to values."""


class Projection(NamedTuple):
    """A linear map x @ matrix + bias."""

    matrix: Tensor
    bias: Tensor | None


@dataclass(eq=False)
class Attention:
    """A = softmax(Z) and what was done with it: O = A V, and the linear map that O goes through."""

    path: str
    """Of the module that called the softmax."""
    weights: Tensor
    """batch x heads x queries x keys"""
    allowed: Tensor
    """The same shape: whether the mask lets the query see the key."""
    values: Tensor | None = None
    """batch x heads x keys x head width, repeated where heads share them"""
    projection: Projection | None = None


@dataclass(eq=False)
class Normalized:
    """A norm over the last dimension, and what it was given."""

    path: str
    input: Tensor


@dataclass
class Observation:
    """The calls in their order, and the output."""

    output: Tensor
    """batch x outputs, as the model gives them to every method"""
    per_position: bool
    """Whether the module gives an output for every position, of which one is read."""
    calls: list[Attention | Normalized]

    @property
    def attentions(self) -> list[Attention]:
        """Every attention, in call order."""
        return [call for call in self.calls if isinstance(call, Attention)]


@dataclass
class _Frame:
    """A module that is being called."""

    path: str
    input: Tensor | None
    normalizes: bool = False


@dataclass
class _Notes:
    frames: list[_Frame] = field(default_factory=list)
    calls: list[Attention | Normalized] = field(default_factory=list)
    per_position: bool = False


def observe(model: Model, inputs: Inputs) -> Observation:
    """Run one forward pass without gradients, and return what happened in it."""
    notes = _Notes()
    with torch.no_grad(), model.at_rest(), _following(model.module, notes), Mode(_Observer(len(inputs), notes)):
        output = model(inputs.with_features(facts.vary(inputs.features)))
    return Observation(output, notes.per_position, notes.calls)


class _Observer(Interpreter):
    """Notes the operations that are attention or norms."""

    def __init__(self, batch: int, notes: _Notes) -> None:
        super().__init__(Where())
        self.batch = batch
        self.notes = notes

    def operate(self, operation: Operation, call: Call) -> Any:
        """Return the operation's value, and note it."""
        value = call.run()
        match operation:
            case Softmax():
                self._softmax(operation.input, value)
            case Product(contracts=True, factors=(left, right)) if call.name != "einsum" or MATMUL.match(call.args[0]):
                self._product(left, right)
            case Linear(name="linear"):
                self._linear(operation.weight.t(), operation.bias)
            case Linear(name="addmm"):
                self._linear(operation.weight, operation.bias)
            case Norm():
                self._norm(operation.input)
            case Pointwise(kind=kinds.NORMALIZER) if isinstance(value, Tensor) and value.dim() > 1:
                self._written_norm()
        return value

    @property
    def _frame(self) -> _Frame:
        return self.notes.frames[-1]

    def _softmax(self, logits: Tensor, value: Tensor) -> None:
        """Note attention weights, which are square; a router's softmax and a classifier's are not."""
        if value.dim() in (3, 4) and value.shape[-1] == value.shape[-2] and value.shape[0] % self.batch == 0:
            weights = value.reshape(self.batch, -1, *value.shape[-2:])  # heads may be folded into the batch
            # Masks add the lowest number of the dtype, or minus infinity.
            allowed = (logits > torch.finfo(logits.dtype).min / 2).reshape(weights.shape)
            self.notes.calls.append(Attention(self._frame.path, weights, allowed))

    def _product(self, left: Tensor, right: Tensor) -> None:
        """Note A V, the first product after the softmax whose left factor can be its result."""
        last = self._last_attention()
        if last is None or last.values is not None:
            return
        if left.numel() == last.weights.numel() and left.shape[-2:] == last.weights.shape[-2:]:
            values = right.expand(*left.shape[:-2], *right.shape[-2:])  # one value head may serve them all
            last.values = values.reshape(self.batch, -1, *right.shape[-2:])

    def _linear(self, matrix: Tensor, bias: Tensor | None) -> None:
        """Note the first linear map after A V."""
        last = self._last_attention()
        if last is not None and last.values is not None and last.projection is None:
            last.projection = Projection(matrix, bias)

    def _last_attention(self) -> Attention | None:
        calls = self.notes.calls
        return calls[-1] if calls and isinstance(calls[-1], Attention) else None

    def _norm(self, value: Tensor) -> None:
        self.notes.calls.append(Normalized(self._frame.path, value))

    def _written_norm(self) -> None:
        """Note a norm in several calls (Llama's RMSNorm), once per call of its module, whose input is the norm's."""
        if self._frame.input is not None and not self._frame.normalizes:
            self._frame.normalizes = True
            self._norm(self._frame.input)


@contextmanager
def _following(model: nn.Module, notes: _Notes) -> Iterator[None]:
    """Keep the stack of modules that are being called; the hooks are gone on exit."""

    def enter(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            given = (value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
            notes.frames.append(_Frame(path, next(given, None)))

        return hook

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        notes.frames.pop()
        if not notes.frames:
            raw = output if isinstance(output, Tensor) else getattr(output, "logits", None)
            notes.per_position = isinstance(raw, Tensor) and raw.dim() == 3

    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(name), with_kwargs=True))
        handles.append(module.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
