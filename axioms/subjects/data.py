"""Data sources: where the inputs of a subject come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from axioms.errors import InputError
from axioms.registry import data

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Data:
    """Examples as features (n x features), their labels, and how a report names each of them."""

    features: Tensor
    labels: Tensor | None = None
    names: tuple[str, ...] = ()

    def name(self, index: int) -> str:
        """How a report names the example."""
        return self.names[index] if self.names else ""


@data("points")
def points(*, values: list[list[float]]) -> Data:
    """Feature vectors written in the spec itself."""
    import torch

    lengths = {len(row) for row in values}
    if len(lengths) != 1:
        raise InputError(f"points must all have the same length; found lengths {sorted(lengths)}.")
    return Data(torch.tensor(values, dtype=torch.float64), names=tuple(str(row) for row in values))


@data("images")
def images(
    *,
    files: dict[str, str],
    split: str = "test",
    n: int | None = None,
    start: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
) -> Data:
    """8-bit images from a safetensors file (`images`: n x h x w, `labels`: n) as pixels, (value / 255 - mean) / std."""
    import torch
    from safetensors.torch import load_file

    if split not in files:
        raise InputError(f"there is no split {split!r}; this data has {', '.join(files)}.")
    tensors = load_file(files[split])
    available = len(tensors["images"])
    stop = available if n is None else start + n
    if stop > available or not 0 <= start < stop:
        raise InputError(f"asked for examples {start} to {stop}; this data has {available}.")
    pixels, labels = tensors["images"][start:stop], tensors["labels"][start:stop]
    features = (pixels.flatten(1).to(torch.float64) / 255 - mean) / std
    return Data(features, labels.to(torch.int64), tuple(f"a {int(label)}" for label in labels))
