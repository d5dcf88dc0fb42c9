"""Data sources of random numbers."""

from __future__ import annotations

from axioms.core.registry import data
from axioms.core.seeds import Seed
from axioms.subjects.data.examples import Data
from axioms.subjects.data.written import tokens


@data("random-tokens")
def random_tokens(*, n: int = 4, length: int = 8, vocabulary: int = 40, seed: Seed = 0) -> Data:
    """Random token ids from 3 up (below that are the special ones), of `length` down to half of it, padded."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    lengths = [length - (index % (length // 2 + 1)) for index in range(n)]
    drawn = torch.randint(3, vocabulary, (n, length), generator=generator).tolist()
    return tokens(values=[row[:size] for row, size in zip(drawn, lengths, strict=True)])


@data("random-images")
def random_images(*, n: int = 4, size: int = 8, channels: int = 3, seed: Seed = 0) -> Data:
    """Random images for the forward pass of a vision model."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return Data({"pixel_values": torch.randn(n, channels, size, size, generator=generator, dtype=torch.float64)})


@data("random-points")
def random_points(*, n: int = 4, features: int = 16, seed: Seed = 0) -> Data:
    """Standard normal feature vectors."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return Data(torch.randn(n, features, generator=generator, dtype=torch.float64))
