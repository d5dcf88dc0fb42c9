"""A method on a whole data set: batch by batch, in evaluation mode, put together again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Method
from axioms.core.errors import InputError
from axioms.engine.attribution import Attribution, Decomposition, Swept
from axioms.model.inputs import Inputs
from axioms.model.targets import Target

if TYPE_CHECKING:
    from torch import Tensor

    from axioms.model.module import Model

Progress = Callable[[int, int], None]
"""Called with the number of examples done and the number of all."""

_WITHIN: ContextVar[Progress | None] = ContextVar("axioms_within", default=None)


def within_batch() -> Progress | None:
    """Return what a method calls to report how much of its batch is done; None where nobody listens."""
    return _WITHIN.get()


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
    from axioms.engine.handlers.sweep import sweep
    from axioms.methods.lrp import attnlrp_composite

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
