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


@data("image-patches")
def image_patches(
    *,
    files: dict[str, str],
    patch: int,
    split: str = "test",
    n: int | None = None,
    start: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
) -> Data:
    """The same images as tokens for a ViT: an empty one for [CLS], then squares of `patch` x `patch` pixels, in rows.

    [CLS] is marked as a special token, so that `special_tokens: keep` leaves it where it is.
    """
    import torch

    whole = images(files=files, split=split, n=n, start=start, mean=mean, std=std)
    assert isinstance(whole.inputs, torch.Tensor)
    assert whole.shape is not None
    if patch < 1 or any(side % patch for side in whole.shape):
        raise InputError(f"images of {whole.shape[0]} x {whole.shape[1]} do not divide into patches of {patch}.")
    squares = cut_into_patches(whole.inputs.unflatten(1, whole.shape), patch)
    patches = torch.nn.functional.pad(squares, (0, 0, 1, 0))  # [CLS] has no pixels
    mask = torch.ones(patches.shape[:2], dtype=torch.int64)
    special = torch.zeros_like(mask).index_fill(1, torch.tensor(0), 1)
    given = {"patches": patches, "attention_mask": mask, "special_tokens_mask": special}
    return Data(given, whole.labels, whole.names)


def cut_into_patches(pixels: Tensor, patch: int) -> Tensor:
    """Return images (n x height x width) as n x patches x pixels: row by row of patches, each row by row of pixels."""
    rows = pixels.unflatten(2, (-1, patch)).unflatten(1, (-1, patch))
    return rows.transpose(2, 3).flatten(3).flatten(1, 2)


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
