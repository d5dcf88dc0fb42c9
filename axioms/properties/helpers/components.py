"""The components of a model, what replacing each takes from the target, and what a method says that it would take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Numbers, Values, as_numpy
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.inputs import Inputs

Part = Literal["heads", "mlp", "residual", "queries", "keys"]
Patch = Literal["zero", "mean", "pair", "removal"]
Direction = Literal["noising", "denoising"]
TOKENS = 2048
"""Most tokens of one forward pass; the activations of more do not fit a processor's cache."""


@dataclass(frozen=True)
class Question:
    """Which components are patched, and how."""

    part: Part
    patch: Patch
    direction: Direction
    layers: tuple[int, ...]
    most: int | None
    seed: int

    @property
    def places(self) -> list[str]:
        """Where the components are, layer by layer."""
        return [f"layer.{layer}" if self.part == "residual" else f"layer.{layer}.{self.part}" for layer in self.layers]

    def arranged(self, value: Tensor) -> Tensor:
        """Return a value, or what is estimated of it, as examples x components x numbers of each.

        A component is a head with all its tokens, a query or a key of a head, or a token of the MLP or of the layer.
        """
        numbers = prod(value.shape[-2:]) if self.part == "heads" else value.shape[-1]
        return value.reshape(1, -1, numbers)

    def chosen(self, count: int) -> Numbers:
        """Return the components that are patched, of so many: all, or as many as are wanted, drawn with the seed."""
        if self.most is None or self.most >= count:
            return np.arange(count)
        return np.sort(np.random.default_rng([self.seed, count]).choice(count, self.most, replace=False))


@dataclass(frozen=True)
class Example:
    """One example of a side, without padding, and the values that are put in the place of its own."""

    side: SideView
    question: Question
    number: int
    mean: list[Tensor] | None = None
    """Of every place, over the tokens of all examples, where that is the patch."""

    @cached_property
    def base(self) -> Inputs:
        """What the model is run on."""
        return self._other if self.question.direction == "denoising" else self._own

    @cached_property
    def patches(self) -> list[Tensor]:
        """What is put at every place, in the shape of the value there."""
        if self.question.patch in ("zero", "mean"):
            values = self._values(self.base)
            fill = [0.0 * value for value in values] if self.mean is None else self.mean
            return [part.expand_as(value) for part, value in zip(fill, values, strict=True)]
        return self._values(self._own if self.question.direction == "denoising" else self._other)

    def effects(self) -> Values:
        """Return f(x) - f(x with the component patched) for each chosen component of every layer in turn."""
        import torch

        patches = [self.question.arranged(patch)[0] for patch in self.patches]
        values = [self.question.arranged(value)[0] for value in self._values(self.base)]
        differs = [(patch != value).any(-1) for patch, value in zip(patches, values, strict=True)]
        chosen = self.question.chosen(sum(map(len, patches)))
        layer = np.repeat(np.arange(len(patches)), [len(patch) for patch in patches])[chosen]
        unit = np.concatenate([np.arange(len(patch)) for patch in patches])[chosen]
        changes = torch.cat(differs).cpu().numpy()[chosen]  # a patch that is the value itself takes nothing
        rows = max(1, TOKENS // int(self.base.features.shape[1]))
        outputs = [self._patched([], [], [])]
        for part in np.split(np.flatnonzero(changes), range(rows, int(changes.sum()), rows)):
            outputs.append(self._patched(patches, layer[part].tolist(), unit[part].tolist()))
        target = self.side.target.rows(self.number, self.number + 1)
        again = target.select(torch.zeros(sum(map(len, outputs)), dtype=torch.long, device=outputs[0].device))
        found = as_numpy(again(torch.cat(outputs)))
        effects = np.zeros(len(chosen))
        effects[changes] = found[0] - found[1 : 1 + int(changes.sum())]
        return effects

    def estimates(self) -> Values:
        """Return what the method under test says of the same components."""
        import torch

        from axioms.engine.handlers.tap import Tap, tapping

        target = self.side.target.rows(self.number, self.number + 1)
        with tapping(*map(Tap, self.question.places)) as taps:
            self.side.bench.rerun(self.side.model, self.base, target, 1)
        of_places = [self.side.bench.estimate(tap, patch) for tap, patch in zip(taps, self.patches, strict=True)]
        every = torch.cat([self.question.arranged(effects)[0].sum(-1) for effects in of_places])
        return as_numpy(every)[self.question.chosen(len(every))]

    def _values(self, inputs: Inputs) -> list[Tensor]:
        from axioms.engine.handlers.patch import values_at

        return values_at(self.side.model, inputs, self.question.places)

    def _patched(self, patches: list[Tensor], layer: list[int], unit: list[int]) -> Tensor:
        """Return the outputs, one row for each component that is patched; one for the example as it is without any."""
        import torch

        from axioms.engine.handlers.patch import outputs_with

        count = max(1, len(layer))
        index = torch.zeros(count, dtype=torch.long, device=self.base.features.device)
        replaced: dict[str, Callable[[Tensor], Tensor]] = {}
        for number in sorted(set(layer)):
            rows = [row for row in range(count) if layer[row] == number]
            units = [unit[row] for row in rows]
            replaced[self.question.places[number]] = partial(put, rows, units, patches[number][units], count)
        return outputs_with(self.side.model, self.base.select(index), replaced)

    @cached_property
    def _own(self) -> Inputs:
        return alone(self.side.inputs, self.number)

    @cached_property
    def _other(self) -> Inputs:
        """The counterfactual: the other example of the pair, or this one without its words."""
        if self.question.patch == "removal":
            return without_words(self._own)
        number = self.number ^ 1
        if number >= len(self.side.inputs):
            raise InputError("patches from the other example of a pair need an even number of examples.")
        other = alone(self.side.inputs, number)
        if other.features.shape != self._own.features.shape:
            raise InputError(
                f"examples {self.number} and {number} are a pair and must have as many tokens as each other; they have "
                f"{self._own.features.shape[1]} and {other.features.shape[1]}."
            )
        return other


def put(rows: list[int], units: list[int], patch: Tensor, count: int, value: Tensor) -> Tensor:
    """Return a value with a patch at one component of each of these rows."""
    import torch

    changed = value.clone(memory_format=torch.contiguous_format)
    changed.view(count, -1, patch.shape[-1])[rows, units] = patch
    return changed


def alone(inputs: Inputs, number: int) -> Inputs:
    """Return one example without the padding at its end."""
    row = inputs.rows(number, number + 1)
    return row if row.lengths is None else row.up_to(int(row.lengths.max()))


def without_words(inputs: Inputs) -> Inputs:
    """Return an example with other words, or none, in the place of all that the removal may remove."""
    import torch

    if inputs.removal.kind in ("attention_mask", "delete"):
        raise InputError(
            f"a patch by removal puts something in the place of words, and removal by {inputs.removal.kind} does not; "
            "let the subject `remove` by resample, mask_token, mean_embedding or zero_embedding."
        )
    everything = torch.ones(inputs.features.shape[:2], dtype=torch.bool, device=inputs.features.device)
    return inputs.without(everything if inputs.candidates is None else inputs.candidates)


def mean_values(side: SideView, question: Question) -> list[Tensor]:
    """Return the mean of the values at every place over the tokens of all examples, of each head by itself."""
    from axioms.engine.handlers.patch import values_at

    totals: list[Tensor] = []
    tokens = 0
    for number in range(len(side.inputs)):
        values = values_at(side.model, alone(side.inputs, number), question.places)
        sums = [value.sum(-2, keepdim=True) for value in values]
        totals = [total + part for total, part in zip(totals, sums, strict=True)] if totals else sums
        tokens += values[0].shape[-2]
    return [total / tokens for total in totals]
