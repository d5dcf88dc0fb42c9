"""Which number of the model's output is explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Target:
    """One output per example. `target(outputs)` picks it."""

    index: Tensor

    def __call__(self, outputs: Tensor) -> Tensor:
        """The chosen output of each example: batch x outputs to batch."""
        return outputs.gather(1, self.index.unsqueeze(1)).squeeze(1)

    def rows(self, start: int, stop: int) -> Target:
        """The target of some of the examples."""
        return Target(self.index[start:stop])

    def select(self, index: Tensor) -> Target:
        """The target of the examples at `index`."""
        return Target(self.index[index])


def choose(wanted: str | int | Tensor, outputs: Tensor, labels: Tensor | None = None) -> Target:
    """`predicted`, `label`, a class number, or a tensor of class numbers, as a `Target`."""
    import torch

    count = outputs.shape[1]
    if isinstance(wanted, torch.Tensor):
        index = wanted.to(outputs.device)
    elif wanted == "predicted":
        return Target(outputs.argmax(dim=1))
    elif wanted == "label":
        if labels is None:
            raise InputError("target 'label' needs data with labels.")
        index = labels.to(outputs.device)
    elif isinstance(wanted, int) and not isinstance(wanted, bool):
        index = torch.full((outputs.shape[0],), wanted, device=outputs.device)
    else:
        raise InputError(f"target must be 'predicted', 'label', a class number or a tensor of them, not {wanted!r}.")
    if index.shape != outputs.shape[:1]:
        raise InputError(f"target needs one class per example ({outputs.shape[0]}); got {tuple(index.shape)}.")
    if not index.is_meta and (int(index.min()) < 0 or int(index.max()) >= count):
        raise InputError(f"target class out of range: the model has {count} outputs, numbered from 0.")
    return Target(index)
