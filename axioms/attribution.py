"""One call for every method: `attribute(model, inputs, target, method)`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from axioms.errors import InputError
from axioms.registry import METHODS, Method
from axioms.subjects.inputs import Inputs, read_inputs
from axioms.subjects.targets import Target, choose

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.propagate.ledger import Ledger
    from axioms.subjects.model import Model

Progress = Callable[[int, int], None]
"""Called with the number of examples done and the number of all."""

_WITHIN: ContextVar[Progress | None] = ContextVar("axioms_within", default=None)


def within_batch() -> Progress | None:
    """For a method to report how much of its batch is done, where somebody listens."""
    return _WITHIN.get()


class Decomposition(NamedTuple):
    """What a method returns if its scores decompose something other than the output itself."""

    scores: Tensor
    total: Tensor


@dataclass(frozen=True)
class Attribution:
    """Relevance of every feature of a batch."""

    scores: Tensor
    """batch x features"""
    output: Tensor
    """batch: the number that was explained"""
    total: Tensor
    """batch: what the scores of a conserving method sum to, the output unless the method has a baseline"""
    method: str
    seconds: float = 0.0
    """Time spent in the method itself."""
    ledger: Ledger | None = None
    """Where relevance went that did not reach the features; only where it was asked for."""
    at: Tensor | None = None
    """Relevance at the place that was asked for, in the shape of the value there: batch x tokens x neurons, ..."""


@dataclass(frozen=True)
class Swept:
    """A sweep over layers: the relevance under each setting, by the layers whose softmax is bypassed in it."""

    layers: tuple[int, ...]
    attributions: Mapping[frozenset[int], Attribution]


def attribute(
    model: torch.nn.Module,
    inputs: Tensor | Mapping[str, Any],
    target: str | int | Tensor | Mapping[str, Any] = "predicted",
    method: str = "attnlrp",
    *,
    remove: str | Mapping[str, Any] | None = None,
    batch_size: int | None = None,
    ledger: bool = False,
    strict: bool = True,
    at: str | None = None,
    **options: Any,
) -> Attribution:
    """The relevance of each feature for the target output.

    `inputs` is a tensor (batch x features) or a mapping for the model's forward pass; `target` is `predicted`, a class
    number, a tensor with one per example, or `{"probability": ...}` or `{"logit_difference": ...}`; `remove` is what
    removing a feature means (`"delete"`, `{"kind": "delete", "chunk": 16}`); `options` are the method's own. With
    `ledger=True` the result says what biases, positions, the stabilizer, softmax and norms kept;
    `print(result.ledger.table())`. An operation that no rule covers raises; with `strict=False` relevance crosses it by
    the plain gradient, and the ledger says so. With `at`, the result holds the relevance there as well: `layer.6`,
    `layer.6.heads`, or the path of a module.
    """
    import torch

    from axioms.propagate.ledger import recording
    from axioms.propagate.nesting import from_scratch
    from axioms.propagate.tap import tapping
    from axioms.subjects.model import Model, lock_of

    entry = METHODS.get(method)
    wrapped = Model(model)
    with lock_of(model), from_scratch(model):
        read = read_inputs(model, inputs, remove)
        with torch.no_grad(), wrapped.at_rest():
            outputs = wrapped(read)
            chosen = choose(target, outputs)
        size = len(read) if at else batch_size or len(read)
        books = recording(strict=strict) if ledger or not strict else nullcontext()
        with books as kept, tapping(at) if at else nullcontext() as tap:
            found = run_method(entry, wrapped, read, chosen, chosen(outputs), batch_size=size, options=options)
    if kept is not None and not kept.entries and not kept.uncovered:
        raise InputError(f"method {method!r} does not propagate relevance, so it has no ledger.")
    if tap is not None and tap.relevance is None:
        raise InputError(f"method {method!r} brought no relevance to {at!r}.")
    return replace(found, ledger=kept, at=None if tap is None else tap.relevance)


def run_method(
    entry: Method,
    model: Model,
    inputs: Inputs,
    target: Target,
    output: Tensor,
    *,
    batch_size: int,
    options: Mapping[str, Any],
    progress: Progress | None = None,
) -> Attribution:
    """Run a method batch by batch, in evaluation mode with frozen parameters, and put the batches together.

    `output` is the target's output, which the caller has computed already.
    """
    import torch

    parts: list[tuple[Tensor, Tensor]] = []
    seconds = 0.0
    with torch.enable_grad(), model.at_rest():
        for start in range(0, len(inputs), batch_size):
            rows, goal = inputs.rows(start, start + batch_size), target.rows(start, start + batch_size)
            started = time.perf_counter()
            with _reporting(progress, start, len(rows), len(inputs)):
                returned = entry.function(model, rows, goal, **options)
            seconds += time.perf_counter() - started
            known = output[start : start + batch_size]
            scores, total = returned if isinstance(returned, Decomposition) else (returned, known)
            parts.append((_per_feature(entry.name, scores, rows).detach(), total.detach()))
            if progress is not None:
                progress(min(start + batch_size, len(inputs)), len(inputs))
    scores, total = (torch.cat(columns) for columns in zip(*parts, strict=True))
    return Attribution(scores, output, total, entry.name, seconds)


@contextmanager
def _reporting(progress: Progress | None, start: int, size: int, total: int) -> Iterator[None]:
    """What a method reports of its batch goes to `progress`, in examples of all; of the only one, in its own steps."""

    def report(done: int, of: int) -> None:
        if progress is not None and done < of:
            progress(*(start + size * done // of, total) if total > 1 else (done, of))

    token = _WITHIN.set(report)
    try:
        yield
    finally:
        _WITHIN.reset(token)


def run_sweep(
    entry: Method,
    model: Model,
    inputs: Inputs,
    target: Target,
    output: Tensor,
    kinds: Sequence[str],
    *,
    batch_size: int,
    options: Mapping[str, Any],
    progress: Progress | None = None,
) -> Swept:
    """AttnLRP with its softmax bypassed in some layers, under every setting of these kinds."""
    from axioms.methods.lrp import attnlrp_composite
    from axioms.propagate.sweep import sweep

    if entry.name != "attnlrp" or set(options) - {"epsilon"}:
        raise InputError("a sweep bypasses the softmax of `attnlrp`, with no option but `epsilon`.")
    composite = attnlrp_composite(options.get("epsilon", 0.0))
    found = sweep(model, inputs, target, composite, kinds, batch_size=batch_size, progress=progress)
    every = {setting: Attribution(scores, output, output, entry.name) for setting, scores in found.scores.items()}
    return Swept(found.layers, every)


def _per_feature(name: str, scores: Any, inputs: Inputs) -> Tensor:
    """Scores as batch x features: summed over the width of an embedding."""
    import torch

    if not isinstance(scores, torch.Tensor):
        raise InputError(f"method {name!r} must return a tensor of scores, not {type(scores).__name__}.")
    wanted = inputs.features.shape
    if scores.shape not in (wanted, wanted[:2]):
        raise InputError(
            f"method {name!r} returned scores of shape {tuple(scores.shape)}; {tuple(wanted[:2])} is needed."
        )
    return scores.flatten(2).sum(2) if scores.dim() > 2 else scores
