"""MNIST: as torchvision keeps it, else from the asset `mnist`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from axioms.core.environment import switched_on
from axioms.core.errors import AssetMissing, InputError, MissingPackage
from axioms.core.registry import data
from axioms.subjects.assets import OFFLINE, cache_folder, locate
from axioms.subjects.data.examples import Data
from axioms.subjects.data.images import as_data
from axioms.subjects.models.torchvision import import_torchvision
from axioms.subjects.paths import OptionalPath

if TYPE_CHECKING:
    from torch import Tensor

ASSET = "mnist"
SIDE = 28
Split = Literal["train", "test"]


@data("mnist")
def mnist(
    *,
    root: OptionalPath = None,
    split: Split = "test",
    size: int = SIDE,
    n: int | None = None,
    start: int = 0,
    mean: float = 0.1307,
    std: float = 0.3081,
) -> Data:
    """MNIST digits as pixels, (value / 255 - mean) / std, of any size; `root` is torchvision's data folder."""
    pixels, labels = read_mnist(split, None if root is None else Path(root))
    return as_data(resize(pixels, size), labels, n, start, mean, std)


def read_mnist(split: Split, root: Path | None = None) -> tuple[Tensor, Tensor]:
    """Return the digits (n x 28 x 28, 8 bits) and their labels, or raise `AssetMissing`.

    They are torchvision's in `root` (a folder of the cache by default), downloaded there once; where torchvision is
    broken, its servers are out of reach or nothing may be fetched, those of the asset.
    """
    folder = root or cache_folder() / "torchvision"
    failure = _download(folder)
    if not failure:
        loaded = import_torchvision().datasets.MNIST(folder, train=split == "train")
        return loaded.data, loaded.targets
    try:
        return _read_csv(locate(ASSET, Path.cwd()) / f"mnist_{split}.csv")
    except AssetMissing as error:
        raise AssetMissing(f"torchvision has no MNIST in {folder} ({failure}), and {error}", ASSET) from None


def resize(pixels: Tensor, size: int) -> Tensor:
    """Return 8-bit images (n x height x width) of another size, by antialiased bilinear interpolation and rounding."""
    import torch

    if tuple(pixels.shape[1:]) == (size, size):
        return pixels
    transforms = import_torchvision().transforms.v2.functional
    resized = transforms.resize(pixels[:, None].float(), [size, size], antialias=True)
    return resized[:, 0].round().clamp(0, 255).to(torch.uint8)


@cache
def _download(folder: Path) -> str:
    """Let torchvision complete its files, trying once in a process; return why it has none, or nothing where it has."""
    try:
        import_torchvision().datasets.MNIST(folder, download=not switched_on(OFFLINE))
    except (MissingPackage, RuntimeError, OSError) as error:
        return str(error).strip().split("\n", 1)[0]
    return ""


def _read_csv(file: Path) -> tuple[Tensor, Tensor]:
    """Return the images and labels of a file with one digit a row: its label, then its pixels."""
    import numpy as np
    import torch

    table = torch.from_numpy(np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.uint8))
    if table.shape[1] != 1 + SIDE * SIDE:
        raise InputError(f"{file.name} has {table.shape[1]} columns; a label and {SIDE * SIDE} pixels are expected.")
    return table[:, 1:].reshape(-1, SIDE, SIDE), table[:, 0].long()
