"""What a data source returns: examples with their labels and names."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
        """Return how a report names the example."""
        if self.texts:
            return f'"{textwrap.shorten(self.texts[index], NAME_LENGTH, placeholder=" ...")}"'
        return self.names[index] if self.names else ""
