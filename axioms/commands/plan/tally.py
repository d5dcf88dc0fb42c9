"""One pass through a model, tallied: torch operations, floating-point operations and what is saved for the way back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from axioms.model.inputs import Inputs
from axioms.model.module import Model


@dataclass(frozen=True)
class Pass:
    """What one forward and one backward pass of one example take; counted, so the same on every device."""

    flops: float
    backward_flops: float
    operations: int
    """Calls of torch on the way forward."""
    backward_operations: int
    saved: float
    """Bytes that the forward pass keeps for the backward pass."""
    largest: float
    """Bytes of the largest tensor on the way."""

    def between(self, other: Pass, share: float) -> Pass:
        """Return the pass that lies at this share of the way from this one to another, which may be beyond it."""

        def at(mine: float, others: float) -> float:
            return max(0.0, mine + share * (others - mine))

        return Pass(
            at(self.flops, other.flops),
            at(self.backward_flops, other.backward_flops),
            self.operations,
            self.backward_operations,
            at(self.saved, other.saved),
            at(self.largest, other.largest),
        )


class Tally(TorchDispatchMode):
    """Counts operations, and those of floating point in products, as torch's own counter does."""

    def __init__(self, weights: Collection[int]) -> None:
        """`weights` are the storages of the model's parameters, which no pass makes anew."""
        super().__init__()
        self.operations, self.flops, self.largest = 0, 0.0, 0.0
        self._weights = weights

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count it."""
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.operations += 1
        count = flop_registry.get(getattr(func, "overloadpacket", None))
        if count is not None:
            self.flops += float(count(*args, **kwargs, out_val=out))
        if isinstance(out, Tensor) and out.untyped_storage()._cdata not in self._weights:
            self.largest = max(self.largest, float(out.numel() * out.element_size()))
        return out


def tally_pass(model: Model, inputs: Inputs) -> Pass:
    """Return what a pass of these inputs, of one example, takes; nothing is computed on the meta device."""
    saved: dict[int, float] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage._cdata] = float(storage.nbytes())
        return tensor

    weights = {parameter.untyped_storage()._cdata for parameter in model.module.parameters()}
    features = inputs.features.detach().requires_grad_()
    with torch.enable_grad(), model.at_rest(), Tally(weights) as tally:
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            outputs = model(inputs.with_features(features))
        operations, flops = tally.operations, tally.flops
        torch.autograd.grad(outputs.sum(), features, allow_unused=True)
    kept = sum(size for storage, size in saved.items() if storage not in weights)
    return Pass(flops, tally.flops - flops, operations, tally.operations - operations, kept, tally.largest)
