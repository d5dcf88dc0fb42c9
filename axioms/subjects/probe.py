"""The target after many removals: as few and as short forward passes as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from axioms.subjects.inputs import Inputs
from axioms.subjects.model import Model
from axioms.subjects.targets import Target

ROWS = 1024
"""Most rows of one forward pass."""
TOKENS = {"cpu": 2048}
"""Most tokens of one forward pass over texts, by device: the activations of more do not fit a processor's cache."""
TOKENS_ELSEWHERE = 65536


def probe(
    model: Model,
    inputs: Inputs,
    targets: Sequence[Target],
    example: Tensor,
    removed: Tensor,
    *,
    rows: int = ROWS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Tensor]:
    """What each target is for `example[k]` without the features where `removed[k]` is true, for every k.

    Texts go in order of their length, each forward pass no longer than its longest. Where a removal draws, the targets
    are averaged over the draws. Call it with the model at rest.
    """
    found: list[list[Tensor]] = [[] for _ in targets]
    done, order = 0, torch.arange(len(example), device=example.device)
    lengths = None if inputs.position is None else _lengths(inputs, example, removed)
    if lengths is not None:
        order = lengths.argsort(descending=True, stable=True)
    with torch.no_grad():
        for part in _parts(order, lengths, rows):
            of_part = _part(model, inputs, targets, example[part], removed[part])
            for values, value in zip(found, of_part, strict=True):
                values.append(value)
            done += len(part)
            if progress is not None:
                progress(done, len(example))
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return [torch.cat(values)[back] for values in found]


def _part(model: Model, inputs: Inputs, targets: Sequence[Target], example: Tensor, removed: Tensor) -> list[Tensor]:
    chosen = inputs.select(example)
    if chosen.position is not None:  # what follows the longest text is padding
        length = int(chosen.position.max()) + 1
        chosen, removed = chosen.up_to(length), removed[:, :length]
    draws = 1 if inputs.drawn is None else inputs.drawn.shape[1]
    of_draws = []
    for draw in range(draws):
        outputs = model(chosen.without(removed, draw))
        of_draws.append([target.select(example)(outputs) for target in targets])
    return [torch.stack(values).mean(dim=0) for values in zip(*of_draws, strict=True)]


def _lengths(inputs: Inputs, example: Tensor, removed: Tensor) -> Tensor:
    """How many tokens each row has, from the first to the last that is attended to."""
    assert inputs.position is not None
    lengths = inputs.position[example] + 1
    return lengths - removed.sum(dim=1) if inputs.removal.kind == "delete" else lengths


def _parts(order: Tensor, lengths: Tensor | None, rows: int) -> Iterator[Tensor]:
    """The rows of each forward pass, of which the first is the longest."""
    if lengths is None:
        yield from order.split(rows)
        return
    in_order, start = lengths[order].tolist(), 0
    tokens = TOKENS.get(order.device.type, TOKENS_ELSEWHERE)
    while start < len(order):
        stop = start + min(rows, max(1, tokens // max(1, in_order[start])))
        yield order[start:stop]
        start = stop
