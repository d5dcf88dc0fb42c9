"""Linear layers however they are stored, and modules by their path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from axioms.core.errors import NotApplicable

Match = TypeVar("Match")
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


def is_linear(module: object) -> bool:
    """Whether a module is y = W x + b: torch's Linear, or GPT-2's Conv1D, which stores W the other way round."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def oriented(layer: Any) -> Tensor:
    """Return a layer's weight as outputs x inputs (x kernel): a view, so that writing to it writes to the layer."""
    weight: Tensor = layer.weight.data
    return weight.t() if type(layer).__name__ == "Conv1D" else weight


@dataclass(frozen=True)
class Map:
    """Some outputs of a linear layer (or a convolution): W as outputs x inputs, and b."""

    layer: Any
    rows: Tensor

    @classmethod
    def whole(cls, layer: Any) -> Map:
        """Return the map to all outputs of a layer."""
        return cls(layer, torch.arange(len(oriented(layer))))

    def part(self, index: int, parts: int) -> Map:
        """Return the map to one of several equal parts of the outputs."""
        return Map(self.layer, self.rows.reshape(parts, -1)[index])

    @property
    def weight(self) -> Tensor:
        """A copy of W."""
        return oriented(self.layer)[self.rows]

    @property
    def bias(self) -> Tensor | None:
        """A copy of b; None where the layer has none."""
        return None if self.layer.bias is None else self.layer.bias.data[self.rows]

    @property
    def bias_or_zero(self) -> Tensor:
        """A copy of b, or zeros where the layer has none."""
        return self.weight.new_zeros(len(self.rows)) if self.bias is None else self.bias

    def bias_after(self, offset: Tensor | None) -> Tensor | None:
        """Return W offset + b: the bias that gives the same output once the input no longer contains the offset."""
        if offset is None:
            return self.bias
        absorbed = self.weight @ offset
        return absorbed if self.bias is None else self.bias + absorbed

    def write(self, weight: Tensor, bias: Tensor | None = None) -> None:
        """Store another W, and another b if one is given; a layer without a bias gets one then."""
        oriented(self.layer)[self.rows] = weight
        if bias is not None:
            if self.layer.bias is None:
                self.layer.bias = nn.Parameter(weight.new_zeros(len(oriented(self.layer))))
            self.layer.bias.data[self.rows] = bias

    def select_outputs(self, order: Tensor) -> None:
        """Put the outputs into another order."""
        self.write(self.weight[order], None if self.bias is None else self.bias[order])

    def select_inputs(self, order: Tensor) -> None:
        """Make the layer read its inputs in another order."""
        self.write(self.weight[:, order])

    def scale_outputs(self, scale: Tensor) -> None:
        """Multiply each output by its number."""
        weight = self.weight * scale.to(self.weight).reshape(-1, *(1,) * (self.weight.dim() - 1))
        self.write(weight, None if self.bias is None else self.bias * scale.to(self.bias))

    def divide_inputs(self, scale: Tensor) -> None:
        """Make the layer divide each input by its number."""
        self.write(self.weight / scale.to(self.weight).reshape(1, -1, *(1,) * (self.weight.dim() - 2)))


def alternating(factor: float, count: int) -> Tensor:
    """Return factor, 1 / factor, factor, ... in float64."""
    return torch.tensor([factor ** (1 - 2 * (index % 2)) for index in range(count)], dtype=torch.float64)


def attribute(module: object, path: str) -> Any:
    """Return the attribute at a dotted path, or None where there is none."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def replace_modules(model: nn.Module, replacement: Callable[[nn.Module], nn.Module | None]) -> int:
    """Put `replacement(module)` in the place of each module for which it is not None; return how many were replaced."""
    replacements: dict[nn.Module, nn.Module | None] = {}
    replaced: list[str] = []
    for path, module in list(model.named_modules(remove_duplicate=False)):
        if not path or any(path.startswith(f"{parent}.") for parent in replaced):
            continue
        if module not in replacements:
            replacements[module] = replacement(module)
        new = replacements[module]
        if new is not None:
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, new.train(module.training))
            replaced.append(path)
    return len(replaced)


def replace_some(model: nn.Module, replacement: Callable[[nn.Module], nn.Module | None], what: str) -> nn.Module:
    """Return the model with modules replaced; `NotApplicable` says that it has no `what` where there are none."""
    if not replace_modules(model, replacement):
        raise NotApplicable(f"the model has no {what}.")
    return model


def at_least_one(matches: list[Match], what: str) -> list[Match]:
    """Return the matches; `NotApplicable` says that the model has no `what` where there are none."""
    if not matches:
        raise NotApplicable(f"the model has no {what}.")
    return matches
