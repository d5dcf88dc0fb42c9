"""The target after many removals: as few and as short forward passes as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from axioms.core.errors import ModelFailed
from axioms.model.inputs import Inputs
from axioms.model.module import Model
from axioms.model.packing import computed_always, may_pack, never_pack, to_try
from axioms.model.prefix import (
    Prefix,
    ReuseFailed,
    can_remember,
    check_reuse,
    is_rounding,
    note_whole_passes,
    run_remembering,
    unchanged_tokens,
)
from axioms.model.removals import ends, packed
from axioms.model.tail import with_short_tail
from axioms.model.targets import Target

Progress = Callable[[int, int], None]
ROWS = 1024
"""Most rows of one forward pass."""
TOKENS = {"cpu": 2048}
"""Most tokens of one forward pass over texts, by device: the activations of more do not fit a processor's cache."""
TOKENS_ELSEWHERE = 65536
NUMBERS = {"cpu": 4096}
"""Most numbers of one forward pass over features that are no tokens, by device, for the same reason."""
FEW = 8
"""Rows that a pass over such features may have, however many numbers they are."""
OVERHEAD = {"cpu": 32}
"""What a forward pass costs beside its tokens, by device, in tokens: the weights must be read once."""
OVERHEAD_ELSEWHERE = 4096
MANY = 16
"""How many removals make it worth looking which of the model's last maps are read at one token alone."""
WORTHWHILE = 4
"""How many removals for every text make it worth a pass to remember its keys and values."""


def probe(
    model: Model,
    inputs: Inputs,
    targets: Sequence[Target],
    example: Tensor,
    removed: Tensor,
    *,
    prefix: Prefix | None = None,
    rows: int = ROWS,
    progress: Progress | None = None,
) -> list[Tensor]:
    """Return what every target is for `example[k]` without the features where `removed[k]` is true, for every k.

    Texts of equal length go together, so that nothing is spent on padding, and nothing of it can be seen by a token
    that finds no other key (DeBERTa silences the queries of masked tokens too). In a causal model only what follows the
    first removed token is computed; `prefix` has the keys and values of the inputs, if the caller has run them
    remembering. In others, tokens that are masked are not computed where a model can do without. Where a removal draws,
    the targets are averaged over the draws. Call it with the model at rest.
    """
    with torch.no_grad():
        if len(example) >= MANY:
            model = with_short_tail(model, inputs)
        questions = _Questions(model, inputs, targets, example, removed)
        if prefix is None and len(example) >= WORTHWHILE * len(inputs) and can_remember(model.module, inputs):
            _, prefix = run_remembering(model, inputs)
        if prefix is not None:
            try:
                return _probe_suffixes(questions, prefix, rows, progress)
            except ReuseFailed as failure:
                note_whole_passes(str(failure))
        if may_pack(model.module, inputs, removed):
            questions.pack()
        parts = _parts(questions, inputs, rows)
        return questions.put_together(parts, lambda part: questions.values(part), progress)


def _probe_suffixes(questions: _Questions, prefix: Prefix, rows: int, progress: Progress | None) -> list[Tensor]:
    """Return the targets with the prefix of every removal taken from memory; or raise `ReuseFailed`."""
    starts = unchanged_tokens(questions.inputs, questions.example, questions.removed)
    trial = (starts * (questions.removed.shape[1] - starts)).argmax().unsqueeze(0)
    whole, size = questions.values(trial), questions.size
    lengths = questions.lengths()
    order = starts.argsort(stable=True)
    if lengths is not None:
        order = order[lengths[order].argsort(descending=True, stable=True)]
    parts = list(_parts_with_starts(order, lengths, starts, questions.removed.shape[1], rows))
    parts.sort(key=lambda part: not bool((part == trial).any()))  # the trial first

    def compute(part: Tensor) -> list[Tensor]:
        values = questions.values(part, prefix, int(starts[part].min()))
        for reused, of_trial in zip(values, whole, strict=True):
            if bool((part == trial).any()):
                check_reuse(reused[part == trial], of_trial, size)
        return values

    return questions.put_together(parts, compute, progress)


@dataclass
class _Questions:
    """Removals, and what is to be known of each: the targets of `example[k]` without what `removed[k]` says."""

    model: Model
    inputs: Inputs
    targets: Sequence[Target]
    example: Tensor
    removed: Tensor
    size: float = 0.0
    """The largest output that was seen."""
    always: Tensor | None = None
    """Where texts are closed up over what is masked: the tokens that are computed all the same."""

    def pack(self) -> None:
        """Close up the texts over what is masked from now on, unless that changes a removal that is tried."""
        always = computed_always(self.inputs)
        stays = (self.inputs.fixed["attention_mask"][self.example] != 0) & ~self.removed | always[self.example]
        trial = to_try(self.removed, stays)
        whole = [torch.cat(values) for values in zip(*(self.values(number) for number in trial.split(1)), strict=True)]
        self.always = always
        try:
            short = self.values(trial)
        except ModelFailed:  # a model that takes positions, and not those
            short = [values + torch.nan for values in whole]
        if not all(is_rounding(one, other, self.size) for one, other in zip(short, whole, strict=True)):
            self.always = None
            never_pack(self.model.module)

    def values(self, part: Tensor, prefix: Prefix | None = None, start: int = 0) -> list[Tensor]:
        """Return the targets of some of the questions; their tokens before `start` are taken from the prefix."""
        example, removed = self.example[part], self.removed[part]
        chosen = self.inputs.select(example)
        lengths = chosen.lengths
        if lengths is not None:  # what follows is padding
            length = int(lengths.max())
            chosen, removed = chosen.up_to(length), removed[:, :length]
        draws = 1 if chosen.drawn is None else chosen.drawn.shape[1]
        of_draws = []
        for draw in range(draws):
            changed = chosen.without(removed, draw)
            if self.always is not None:
                changed = packed(changed, self.always[example, :length])
            outputs = self.model(changed) if prefix is None else prefix.outputs(self.model, changed, example, start)
            if prefix is not None or len(part) == 1:
                self.size = max(self.size, float(outputs.abs().max()))
            of_draws.append([target.select(example)(outputs) for target in self.targets])
        return [torch.stack(values).mean(dim=0) for values in zip(*of_draws, strict=True)]

    def lengths(self) -> Tensor | None:
        """Return how many tokens every row has, of a text that is shortened those left; None for other inputs."""
        lengths = self.inputs.lengths
        if lengths is None or (self.inputs.removal.kind != "delete" and self.always is None):
            return None if lengths is None else lengths[self.example]
        stays = (self.inputs.fixed["attention_mask"][self.example] != 0) & ~self.removed
        if self.always is not None:
            return (stays | self.always[self.example]).sum(dim=1)
        left = stays.sum(dim=1)
        return left.where(left > 0, ends(self.inputs).sum(dim=1)[self.example])  # an empty text keeps its ends

    def put_together(
        self, parts: Iterable[Tensor], compute: Callable[[Tensor], list[Tensor]], progress: Progress | None
    ) -> list[Tensor]:
        """Return the targets of all questions in their order, computed part by part."""
        order, values = [], []
        done = 0
        for part in parts:
            order.append(part)
            values.append(compute(part))
            done += len(part)
            if progress is not None:
                progress(done, len(self.example))
        back = torch.cat(order).argsort()
        return [torch.cat(of_target)[back] for of_target in zip(*values, strict=True)]


def _parts(questions: _Questions, inputs: Inputs, rows: int) -> Iterator[Tensor]:
    """Yield the rows of every forward pass: of texts those of one length, or near ones where padding is not seen."""
    order = torch.arange(len(questions.example), device=questions.example.device)
    lengths = questions.lengths()
    if lengths is None:
        if order.device.type in NUMBERS:
            rows = min(rows, max(FEW, NUMBERS[order.device.type] // inputs.features[0].numel()))
        yield from order.split(rows)
        return
    order = lengths.argsort(descending=True, stable=True)
    if questions.always is not None:
        yield from _parts_near(order, lengths, rows)
        return
    for size, group in _by_length(order, lengths):
        yield from group.split(_most(order, size, rows))


def _parts_near(order: Tensor, lengths: Tensor, rows: int) -> Iterator[Tensor]:
    """Yield the rows of every forward pass where a row may be padded to the longest: near lengths together."""
    overhead = OVERHEAD.get(order.device.type, OVERHEAD_ELSEWHERE)
    tokens = lengths[order].tolist()
    yield from order.split(_cheapest(tokens, _most(order, tokens[0], rows), overhead))


def _parts_with_starts(
    order: Tensor, lengths: Tensor | None, starts: Tensor, length: int, rows: int
) -> Iterator[Tensor]:
    """Yield the rows of every forward pass where tokens before a row's start are not computed: near starts together."""
    groups = [(length, order)] if lengths is None else _by_length(order, lengths)
    for size, group in groups:
        tokens = [size - start for start in starts[group].tolist()]
        overhead = OVERHEAD.get(order.device.type, OVERHEAD_ELSEWHERE)
        yield from group.split(_cheapest(tokens, _most(order, size, rows), overhead))


def _by_length(order: Tensor, lengths: Tensor) -> list[tuple[int, Tensor]]:
    sizes, counts = lengths[order].unique_consecutive(return_counts=True)
    return list(zip(sizes.tolist(), order.split(counts.tolist()), strict=True))


def _most(order: Tensor, size: int, rows: int) -> int:
    return min(rows, max(1, TOKENS.get(order.device.type, TOKENS_ELSEWHERE) // max(1, size)))


def _cheapest(tokens: Sequence[int], most: int, overhead: int) -> list[int]:
    """Return how many rows go together in every pass, so that all passes together cost least.

    Row k needs its last `tokens[k]` tokens, fewer from row to row, and all rows of a pass are computed from where its
    first needs it; a pass costs its rows times that, and `overhead`.
    """
    costs, before = [0.0], [0]
    for stop in range(1, len(tokens) + 1):
        cost, start = min(
            (costs[start] + overhead + (stop - start) * tokens[start], start)
            for start in range(max(0, stop - most), stop)
        )
        costs.append(cost)
        before.append(start)
    counts, stop = [], len(tokens)
    while stop:
        counts.append(stop - before[stop])
        stop = before[stop]
    return counts[::-1]
