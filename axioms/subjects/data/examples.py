"""What a data source returns: examples with their labels and names."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    width: int = 0
    """Tokens that texts are padded to; known when the models that read them are."""

    @property
    def count(self) -> int:
        """The number of examples."""
        if self.texts:
            return len(self.texts)
        if not isinstance(self.inputs, Mapping):
            return len(self.inputs)
        # What is attributed, as `read_inputs` has it: other tensors need not be there once for each example.
        if "input_ids" in self.inputs:
            return len(self.inputs["input_ids"])
        tensors = [value for value in self.inputs.values() if _length(value) is not None]
        return next((len(value) for value in tensors if value.is_floating_point()), 0)

    def rows(self, start: int, stop: int) -> Data:
        """Return some of the examples."""
        count = self.count

        def cut(value: Tensor) -> Tensor:
            return value[start:stop] if _length(value) == count else value

        inputs = self.inputs
        return replace(
            self,
            inputs={name: cut(value) for name, value in inputs.items()} if isinstance(inputs, Mapping) else cut(inputs),
            labels=None if self.labels is None else self.labels[start:stop],
            names=self.names[start:stop],
            texts=self.texts[start:stop],
            agreement=None if self.agreement is None else self.agreement.rows(start, stop),
        )

    def name(self, index: int) -> str:
        """Return how a report names the example."""
        if self.texts:
            return f'"{textwrap.shorten(self.texts[index], NAME_LENGTH, placeholder=" ...")}"'
        return self.names[index] if self.names else ""


def _length(value: Tensor) -> int | None:
    """Return the length of a tensor; None of a number, or of what is no tensor."""
    return int(value.shape[0]) if len(getattr(value, "shape", ())) > 0 else None
