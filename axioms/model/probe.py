"""The target after many removals: as few and as short forward passes as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.removals import ends
from axioms.model.targets import Target

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

    Texts of equal length go together, so that nothing is spent on padding, and nothing of it can be seen by a token
    that finds no other key (DeBERTa silences the queries of masked tokens too). Where a removal draws, the targets are
    averaged over the draws. Call it with the model at rest.
    """
    found: list[list[Tensor]] = [[] for _ in targets]
    done, order = 0, torch.arange(len(example), device=example.device)
    lengths = _lengths(inputs, example, removed)
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
    lengths = chosen.lengths
    if lengths is not None:  # what follows is padding
        length = int(lengths.max())
        chosen, removed = chosen.up_to(length), removed[:, :length]
    draws = 1 if inputs.drawn is None else inputs.drawn.shape[1]
    of_draws = []
    for draw in range(draws):
        outputs = model(chosen.without(removed, draw))
        of_draws.append([target.select(example)(outputs) for target in targets])
    return [torch.stack(values).mean(dim=0) for values in zip(*of_draws, strict=True)]


def _lengths(inputs: Inputs, example: Tensor, removed: Tensor) -> Tensor | None:
    """How many tokens each row has; of a text that is shortened, how many are left. None where these are no texts."""
    lengths = inputs.lengths
    if lengths is None or inputs.removal.kind != "delete":
        return None if lengths is None else lengths[example]
    there = inputs.fixed["attention_mask"][example] != 0
    left = (there & ~removed).sum(dim=1)
    return left.where(left > 0, ends(inputs).sum(dim=1)[example])  # an empty text keeps its ends


def _parts(order: Tensor, lengths: Tensor | None, rows: int) -> Iterator[Tensor]:
    """The rows of each forward pass: of texts, those of one length, as many as have `TOKENS` in all."""
    if lengths is None:
        yield from order.split(rows)
        return
    tokens = TOKENS.get(order.device.type, TOKENS_ELSEWHERE)
    sizes, counts = lengths[order].unique_consecutive(return_counts=True)
    for size, group in zip(sizes.tolist(), order.split(counts.tolist()), strict=True):
        yield from group.split(min(rows, max(1, tokens // max(1, size))))
