"""Linear layers however they are stored, and modules by their path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def is_linear(module: object) -> bool:
    """Whether it is y = W x + b: torch's Linear, or GPT-2's Conv1D, which stores W the other way round."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def oriented(layer: Any) -> Tensor:
    """The weight as outputs x inputs (x kernel); a view, so that writing to it writes to the layer."""
    weight: Tensor = layer.weight.data
    return weight.t() if type(layer).__name__ == "Conv1D" else weight


@dataclass(frozen=True)
class Map:
    """Some outputs of a linear layer (or a convolution): W as outputs x inputs, and b."""

    layer: Any
    rows: Tensor

    @classmethod
    def whole(cls, layer: Any) -> Map:
        """All outputs of the layer."""
        return cls(layer, torch.arange(len(oriented(layer))))

    def part(self, index: int, parts: int) -> Map:
        """One of several equal parts of the outputs."""
        return Map(self.layer, self.rows.reshape(parts, -1)[index])

    @property
    def weight(self) -> Tensor:
        """A copy of W."""
        return oriented(self.layer)[self.rows]

    @property
    def bias(self) -> Tensor | None:
        """A copy of b; None where the layer has none."""
        return None if self.layer.bias is None else self.layer.bias.data[self.rows]

    def write(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Store another W, and another b; a layer without a bias gets one."""
        oriented(self.layer)[self.rows] = weight
        if bias is not None:
            if self.layer.bias is None:
                self.layer.bias = nn.Parameter(weight.new_zeros(len(oriented(self.layer))))
            self.layer.bias.data[self.rows] = bias

    def change_outputs(self, change: Callable[[Tensor], Tensor]) -> None:
        """A change of the output, which is linear and works on the first dimension, done to W and b."""
        self.write(change(self.weight), None if self.bias is None else change(self.bias))

    def change_inputs(self, change: Callable[[Tensor], Tensor]) -> None:
        """A change of what the layer reads, which works on the second dimension of W."""
        self.write(change(self.weight))


def attribute(module: object, path: str) -> Any:
    """The attribute at a dotted path; None where there is none."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def replace_modules(model: nn.Module, replacement: Callable[[nn.Module], nn.Module | None]) -> int:
    """Put `replacement(module)` in the place of each module for which it is not None; how many were replaced."""
    known: dict[nn.Module, nn.Module | None] = {}
    replaced: list[str] = []
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if not path or any(path.startswith(f"{each}.") for each in replaced):
            continue
        if module not in known:
            known[module] = replacement(module)
        new = known[module]
        if new is not None:
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, new.train(module.training))
            replaced.append(path)
    return len(replaced)


def at_least_one(found: list[Any], what: str) -> list[Any]:
    """The findings, or `NotApplicable` with a sentence where there are none."""
    if not found:
        raise NotApplicable(f"the model has no {what}.")
    return found
