"""How large a subject is: its examples, their lengths, and what one pass of its model takes. Nothing is fetched."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from axioms.commands.plan.tally import Pass, tally_pass
from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.module import Model
from axioms.model.prefix import CACHE
from axioms.properties.task import sizes_of


@dataclass(frozen=True)
class Size:
    """One side of a subject: a model with its data, under the settings of a run."""

    examples: int
    lengths: Sequence[int]
    """Features of each example, or of a sample of them; tokens where the examples are texts."""
    units: Sequence[int]
    """What can be removed of each of these."""
    padded: int
    """The length of a batch, in which every example is as long as the longest."""
    batch_size: int
    layers: int
    parameters: int
    is_causal: bool
    """Whether removals compute only what follows the first removed token."""
    dtype: str
    bytes: int
    """Of one number in this dtype."""
    whole: Pass
    """A pass of one example of the padded length."""
    half: Pass | None = None
    """The same at half of that length; None where every example has that length."""
    drawn: int = 1
    """Draws that a removal is averaged over."""
    assumed: tuple[str, ...] = field(default=())
    """What was not measured here but taken from elsewhere, in sentences."""

    @property
    def batches(self) -> int:
        """The number of batches."""
        return math.ceil(self.examples / self.batch_size)

    def pass_of(self, length: float) -> Pass:
        """Return what a pass of one example of this length takes."""
        if self.half is None or self.padded < 2:
            return self.whole
        half = self.padded // 2
        return self.half.between(self.whole, (length - half) / (self.padded - half))

    def summed(self, values: Sequence[float]) -> float:
        """Return the sum over all examples of a value that is known for those in the sample."""
        return sum(values) * self.examples / max(1, len(values))

    def first(self, examples: int) -> Size:
        """Return the size with no more than so many examples."""
        return self.with_examples(min(self.examples, examples), self.batch_size)

    def with_examples(self, examples: int, batch_size: int) -> Size:
        """Return the size with so many examples in batches of so many."""
        other = object.__new__(Size)
        other.__dict__.update(self.__dict__, examples=examples, batch_size=batch_size)
        return other


def size_of(
    model: Model,
    sample: Inputs,
    *,
    examples: int,
    batch_size: int,
    lengths: Sequence[int] | None = None,
    padded: int | None = None,
    assumed: Sequence[str] = (),
) -> Size:
    """Return the size of a model with data, of which `sample` holds some examples, the longest among them.

    `lengths` and `padded` are those of the data where they are not those of the sample.
    """
    module, features = model.module, sample.features
    own = sample.lengths
    lengths = lengths or ([int(features.shape[1])] * len(sample) if own is None else own.tolist())
    numbers = None if features.is_meta else sample.units()
    units = [*lengths] if numbers is None else (numbers.amax(dim=1) + 1).clamp(min=0).tolist()
    width = int(features.shape[1])
    place = 0 if own is None else int(own.argmax())
    longest = sample.rows(place, place + 1)
    half = replace(longest.up_to(width // 2), position=None) if own is not None or features.is_meta else None
    sizes = sizes_of(module)
    return Size(
        examples=examples,
        lengths=lengths,
        units=units,
        padded=padded or width,
        batch_size=batch_size,
        layers=max(1, int(sizes["layers"])),
        parameters=int(sizes["parameters"]),
        is_causal=_reuses_prefixes(model, sample),
        dtype=str(features.dtype).removeprefix("torch."),
        bytes=features.element_size(),
        whole=tally_pass(model, longest),
        half=None if half is None or width < 4 else tally_pass(model, half),
        drawn=1 if sample.drawn is None else int(sample.drawn.shape[1]),
        assumed=tuple(assumed),
    )


def _reuses_prefixes(model: Model, inputs: Inputs) -> bool:
    """Tell whether removals take keys and values of what comes before from memory, as `model/prefix.py` does."""
    is_kind = inputs.slot == EMBEDDINGS and inputs.removal.kind != "delete"
    takes = CACHE in inspect.signature(model.module.forward).parameters
    return is_kind and takes and not getattr(getattr(model.module, "config", None), "is_encoder_decoder", False)
