"""A subject ready to be attributed: its models with their inputs, its target and its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.engine.attribution import Attribution
    from axioms.model.inputs import Inputs
    from axioms.model.module import Model
    from axioms.model.targets import Target
    from axioms.subjects.data import Data

ONLY = "model"
"""The name of the one side of a subject that is not a pair."""


@dataclass(frozen=True)
class Placement:
    """Where and in which precision a run computes."""

    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True)
class Moved:
    """Inputs that mean the same as others, and where their examples and features went."""

    inputs: Inputs
    order: Tensor | None = None
    """Example i is the one that was number order[i]; None where none moved."""
    length: int | None = None
    """How many of the first features were there before; None where all were."""

    def restore(self, rows: Tensor) -> Tensor:
        """Return rows of examples in the order that the examples had."""
        return rows if self.order is None else rows[self.order.argsort()]


@dataclass(frozen=True)
class Side:
    """One model of a subject with the inputs it is given."""

    name: str
    model: Model
    inputs: Inputs
    batch_size: int
    moved: Moved | None = None
    """Where a rewrite of the inputs put the examples and features of the left side."""

    @cached_property
    def outputs(self) -> Tensor:
        """All outputs of the plain forward pass, in the order of the data."""
        outputs = outputs_of(self.model, self.inputs, self.batch_size)
        return outputs if self.moved is None else self.moved.restore(outputs)

    def reorder(self, target: Target) -> Target:
        """Return the target in the order of this side's examples."""
        return target if self.moved is None or self.moved.order is None else target.select(self.moved.order)

    def restore(self, attribution: Attribution) -> Attribution:
        """Return the relevance in the order of the data, of the features that the data has."""
        if self.moved is None:
            return attribution
        rows = (attribution.scores, attribution.output, attribution.total)
        scores, output, total = map(self.moved.restore, rows)
        return replace(attribution, scores=scores[:, : self.moved.length], output=output, total=total)


def outputs_of(model: Model, inputs: Inputs, batch_size: int) -> Tensor:
    """Return the outputs of the plain forward pass, computed batch by batch."""
    import torch

    with torch.no_grad(), model.at_rest():
        chunks = range(0, len(inputs), batch_size)
        return torch.cat([model(inputs.rows(start, start + batch_size)) for start in chunks])


@dataclass(frozen=True)
class BuiltSubject:
    """A subject ready to be attributed: its sides share data and target."""

    sides: Mapping[str, Side]
    target: Target
    data: Data
    tokens: tuple[tuple[str, ...], ...] = ()
    """The tokens of each text, special ones included, without padding; nothing where the data are no texts."""


def move_inputs(inputs: Tensor | Mapping[str, Tensor], place: Placement) -> Tensor | dict[str, Tensor]:
    """Return the inputs on the device, floating-point ones in the dtype."""
    import torch

    if isinstance(inputs, torch.Tensor):
        return inputs.to(place.device, place.dtype if inputs.is_floating_point() else inputs.dtype)
    return {
        name: value.to(place.device, place.dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }
