"""Data sources: where the inputs of a subject come from."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from axioms.core.errors import InputError
from axioms.core.registry import data

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.subjects.agreement.benchmark import Agreement

NAME_LENGTH = 100


@dataclass(frozen=True)
class Data:
    """Examples as features (n x features), as a mapping for the forward pass, or as texts; their labels and names."""

    inputs: Tensor | Mapping[str, Tensor] = field(default_factory=dict)
    labels: Tensor | None = None
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Texts that the model's own tokenizer turns into inputs."""
    max_length: int | None = None
    """Tokens at which texts are cut; the model's own limit by default."""
    agreement: Agreement | None = None
    """Sentences of the agreement benchmark: which texts they are depends on the model that reads them."""
    shape: tuple[int, int] | None = None
    """Height and width, where the features of an example are the pixels of an image."""

    def name(self, index: int) -> str:
        """How a report names the example."""
        if self.texts:
            return f'"{textwrap.shorten(self.texts[index], NAME_LENGTH, placeholder=" ...")}"'
        return self.names[index] if self.names else ""


@data("points")
def points(*, values: list[list[float]]) -> Data:
    """Feature vectors written in the spec itself."""
    import torch

    lengths = {len(row) for row in values}
    if len(lengths) != 1:
        raise InputError(f"points must all have the same length; found lengths {sorted(lengths)}.")
    return Data(torch.tensor(values, dtype=torch.float64), names=tuple(str(row) for row in values))


@data("masked-tokens")
def masked_tokens(*, values: list[list[list[float]]]) -> Data:
    """Token vectors written in the spec itself, with an attention mask, so that removing one is masking it."""
    import torch

    if len({(len(row), len(token)) for row in values for token in row}) != 1:
        raise InputError("masked-tokens must all have the same number of tokens, and tokens the same width.")
    tokens = torch.tensor(values, dtype=torch.float64)
    mask = torch.ones(tokens.shape[:2], dtype=torch.int64)
    return Data({"features": tokens, "attention_mask": mask}, names=tuple(str(row) for row in values))


@data("tokens")
def tokens(*, values: list[list[int]]) -> Data:
    """Token ids written in the spec itself; shorter texts are padded with 0 on the right and masked."""
    import torch

    length = max(len(row) for row in values)
    ids = torch.tensor([row + [0] * (length - len(row)) for row in values])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in values])
    return Data({"input_ids": ids, "attention_mask": mask}, names=tuple(str(row) for row in values))


@data("random-tokens")
def random_tokens(*, n: int = 4, length: int = 8, vocabulary: int = 40, seed: int = 0) -> Data:
    """Random token ids from 3 up (below that are the special ones), of `length` down to half of it, padded."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    lengths = [length - (index % (length // 2 + 1)) for index in range(n)]
    drawn = torch.randint(3, vocabulary, (n, length), generator=generator).tolist()
    return tokens(values=[row[:size] for row, size in zip(drawn, lengths, strict=True)])


@data("random-images")
def random_images(*, n: int = 4, size: int = 8, channels: int = 3, seed: int = 0) -> Data:
    """Random images for the forward pass of a vision model."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return Data({"pixel_values": torch.randn(n, channels, size, size, generator=generator, dtype=torch.float64)})


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


@data("random-points")
def random_points(*, n: int = 4, features: int = 16, seed: int = 0) -> Data:
    """Standard normal feature vectors."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return Data(torch.randn(n, features, generator=generator, dtype=torch.float64))
