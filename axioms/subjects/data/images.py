"""Data sources of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.registry import data
from axioms.subjects.data.examples import Data

if TYPE_CHECKING:
    from torch import Tensor


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
    from safetensors.torch import load_file

    if split not in files:
        raise InputError(f"there is no split {split!r}; this data has {', '.join(files)}.")
    tensors = load_file(files[split])
    return as_data(tensors["images"], tensors["labels"], n, start, mean, std)


def as_data(images: Tensor, labels: Tensor, n: int | None, start: int, mean: float, std: float) -> Data:
    """Return 8-bit images (height x width each) as rows of standardized pixels: `n` of them, from number `start` on."""
    import torch

    available = len(images)
    stop = available if n is None else start + n
    if stop > available or not 0 <= start < stop:
        raise InputError(f"asked for examples {start} to {stop}; this data has {available}.")
    pixels, numbers = images[start:stop], labels[start:stop]
    features = (pixels.flatten(1).to(torch.float64) / 255 - mean) / std
    names = tuple(f"a {int(label)}" for label in numbers)
    return Data(features, numbers.to(torch.int64), names, shape=(pixels.shape[1], pixels.shape[2]))
