"""Data sources of images."""

from __future__ import annotations

from axioms.core.errors import InputError
from axioms.core.registry import data
from axioms.subjects.data.examples import Data


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
    names = tuple(f"a {int(label)}" for label in labels)
    return Data(features, labels.to(torch.int64), names, shape=(pixels.shape[1], pixels.shape[2]))
