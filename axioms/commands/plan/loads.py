"""Loads: passes through a model, as many as some work takes, whatever the device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from axioms.commands.plan.sizes import Size
from axioms.model.probe import FEW, NUMBERS, OVERHEAD, ROWS, TOKENS

Engine = Literal["plain", "rules", "explicit", "gates", "observe", "ledger"]
"""Who runs a pass: torch alone, or torch with the engine's handlers around each of its calls."""
BUFFERS = 4
"""Tensors of the largest size that a pass without a way back holds at once."""


@dataclass(frozen=True)
class Load:
    """Passes by one engine over one size."""

    size: Size
    engine: Engine
    forward: float
    """Passes of one example, forward; of a text of which only the end is computed, the share of that."""
    backward: float = 0.0
    calls: float = 0.0
    """Calls of the model, each with as many examples as fit."""
    backward_calls: float = 0.0
    flops: float = 0.0
    memory: float = 0.0
    """Bytes beside the model's weights, at the peak."""

    def times(self, factor: float) -> Load:
        """Return so many of these, one after another."""
        return replace(
            self,
            forward=factor * self.forward,
            backward=factor * self.backward,
            calls=factor * self.calls,
            backward_calls=factor * self.backward_calls,
            flops=factor * self.flops,
        )


def passes(size: Size, engine: Engine = "plain", forward: float = 1.0, backward: float = 0.0) -> Load:
    """Return so many passes over all examples, in batches that are padded to one length."""
    cost, n = size.pass_of(size.padded), size.examples
    rows = min(n, size.batch_size)
    return Load(
        size,
        engine,
        forward * n,
        backward * n,
        forward * size.batches,
        backward * size.batches,
        n * (forward * cost.flops + backward * cost.backward_flops),
        rows * (cost.saved if backward else BUFFERS * cost.largest),
    )


def removals(size: Size, counts: Sequence[float], is_prefix_kept: bool = False) -> Load:
    """Return the forward passes of so many removals of each example in the sample; texts are not padded for them.

    With `is_prefix_kept` each removal is of one token, and a causal model computes what follows it: half of it all.
    """
    share = 0.5 if is_prefix_kept and size.is_causal else 1.0
    flops = [share * count * size.pass_of(length).flops for count, length in zip(counts, size.lengths, strict=True)]
    rows = size.drawn * size.summed(counts)
    largest = max(size.pass_of(length).largest for length in size.lengths)
    return Load(
        size,
        "plain",
        share * rows,
        calls=size.drawn * _calls(size, counts, is_causal=share < 1),
        flops=size.drawn * size.summed(flops),
        memory=BUFFERS * largest * _most(size, max(size.lengths)),
    )


def _most(size: Size, length: int) -> int:
    """Return how many rows of this length go into one forward pass."""
    most = max(FEW, NUMBERS["cpu"] // size.padded) if size.half is None else TOKENS["cpu"] // max(1, length)
    return min(ROWS, max(1, most))


def _calls(size: Size, counts: Sequence[float], *, is_causal: bool) -> float:
    """Return how often the model is called: in each batch, for the removals of all examples of one length."""
    calls = 0.0
    in_sample = list(zip(counts, size.lengths, strict=True))
    for start in range(0, len(in_sample), size.batch_size):
        by_length: dict[int, list[float]] = {}
        for count, length in in_sample[start : start + size.batch_size]:
            by_length.setdefault(length if size.half is not None else 0, []).append(count)
        for length, group in by_length.items():
            rows = _most(size, length)
            if is_causal:  # near starts go together, so that what is computed twice is worth a call
                rows = min(rows, max(len(group), round(math.sqrt(2 * OVERHEAD["cpu"] * len(group)))))
            calls += math.ceil(sum(group) / rows)
    return calls * size.examples / max(1, len(in_sample))
