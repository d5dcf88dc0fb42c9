"""A method on a whole data set: batch by batch, in evaluation mode, put together again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from axioms.core.entries import Method, Registered
from axioms.core.errors import AxiomsError, InputError, MethodFailed, ModelChanged, said
from axioms.engine.attribution import Attribution, Decomposition, Swept
from axioms.model.inputs import Inputs
from axioms.model.notes import taking_notes
from axioms.model.targets import Target
from axioms.model.weights import in_words, putting_back

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
    output: Tensor | None,
    *,
    batch_size: int,
    options: Mapping[str, Any],
    progress: Progress | None = None,
) -> Attribution:
    """Run a method batch by batch for a target, and put the batches together.

    `output` is the value of the target where the caller knows it; else it is read off the method's own passes.
    """

    def aim(start: int, rows: Inputs) -> tuple[Target, Callable[[], Tensor]]:
        stop = start + len(rows)
        if output is None:
            return _aim_at(target.rows(start, stop), entry, model, rows)
        return target.rows(start, stop), lambda: output[start:stop]

    return _run_batches(entry, model, inputs, aim, batch_size=batch_size, options=options, progress=progress)


def run_method_choosing(
    entry: Method, model: Model, inputs: Inputs, wanted: Any, *, batch_size: int, options: Mapping[str, Any]
) -> Attribution:
    """Run a method batch by batch for a target that is chosen from the passes of the method itself.

    `wanted` is what `axioms.attribute` takes as its target; a tensor with one class per example is cut up like them.
    """
    import torch

    if isinstance(wanted, torch.Tensor) and wanted.shape != (len(inputs),):
        raise InputError(f"target needs one class per example ({len(inputs)}); got {tuple(wanted.shape)}.")

    def aim(start: int, rows: Inputs) -> tuple[Target, Callable[[], Tensor]]:
        of_rows = wanted[start : start + len(rows)] if isinstance(wanted, torch.Tensor) else wanted
        return _aim_at(of_rows, entry, model, rows)

    return _run_batches(entry, model, inputs, aim, batch_size=batch_size, options=options, progress=None)


def _aim_at(wanted: Any, entry: Method, model: Model, rows: Inputs) -> tuple[Target, Callable[[], Tensor]]:
    """Return the target of one batch, and what gives its output after the method has run."""
    from axioms.model.deferred import DeferredTarget

    target = DeferredTarget(wanted, model, rows)
    # A method that does not say so may look at the target for the first time when it has changed the model.
    return target if entry.settles else target.chosen, lambda: target.output


def _run_batches(
    entry: Method,
    model: Model,
    inputs: Inputs,
    aim: Callable[[int, Inputs], tuple[Target, Callable[[], Tensor]]],
    *,
    batch_size: int,
    options: Mapping[str, Any],
    progress: Progress | None,
) -> Attribution:
    """Run a method in evaluation mode with frozen parameters; `aim` gives a batch's target and, later, its output."""
    import torch

    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    seconds = 0.0
    with torch.enable_grad(), model.at_rest(), taking_notes() as notes, leaving_alone(entry, model, inputs):
        for start in range(0, len(inputs), batch_size):
            rows = inputs.rows(start, start + batch_size)
            target, read_output = aim(start, rows)
            with _saying_what_is_wrong(entry), _reporting(progress, start, len(rows), len(inputs)):
                started = time.perf_counter()
                returned = entry.function(model, rows, target, **options)
                seconds += time.perf_counter() - started
            output = read_output()
            scores, total = returned if isinstance(returned, Decomposition) else (returned, output)
            parts.append((_per_feature(entry.name, scores, rows).detach(), output, total.detach()))
            if progress is not None:
                progress(min(start + batch_size, len(inputs)), len(inputs))
    scores, output, total = (torch.cat(columns) for columns in zip(*parts, strict=True))
    return Attribution(scores, output, total, entry.name, seconds, notes=tuple(notes))


@contextmanager
def _saying_what_is_wrong(entry: Method) -> Iterator[None]:
    """Say in a sentence what a user's method raised."""
    try:
        yield
    except AxiomsError:
        raise
    except Exception as error:
        if entry.is_ours:
            raise
        raise MethodFailed(f"method {entry.name!r} raised {said(error)}; mend it there.") from error


@contextmanager
def leaving_alone(entry: Registered, model: Model, inputs: Inputs) -> Iterator[None]:
    """Put back what other people's code changed of the model or its inputs, and say what that was."""
    is_theirs = not entry.is_ours or ":" in entry.name or entry.takes("rules")
    if not is_theirs or not model.is_guarded:
        yield
        return

    def call() -> None:
        with model.at_rest():
            model(inputs.rows(0, 1))

    watched = {**vars(inputs), **inputs.fixed, "model.module": vars(model)}
    with putting_back(model.module, watched, call) as changed:
        yield
    if changed:
        kind = "method" if isinstance(entry, Method) else "axiom"
        raise ModelChanged(
            f"{kind} {entry.name!r} changed the model's {in_words(changed)}, which have been put back: it must leave "
            "the model and its inputs as it found them; let it work on copy.deepcopy(model.module) and on clones."
        )


def check_finite(entry: Method, scores: Tensor, first: int = 0) -> None:
    """Raise where scores of a user's method are not numbers, and say which; `first` is the first example's number."""
    wrong = ~scores.isfinite()
    if not entry.is_ours and wrong.any():
        example, feature = wrong.nonzero()[0].tolist()
        raise MethodFailed(
            f"method {entry.name!r} returned {scores[example, feature].item()} for feature {feature} of example "
            f"{first + example}, and {int(wrong.sum())} of {wrong.numel()} scores are not finite; look for a division "
            "by zero, a logarithm of zero or an overflow in it or in its rules."
        )


@contextmanager
def _reporting(progress: Progress | None, start: int, size: int, total: int) -> Iterator[None]:
    """Pass what a method reports of its batch on to `progress`: in examples of all, or in steps of the only one."""

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
    """Return the relevance of AttnLRP with its softmax bypassed in some layers, for every setting of these kinds."""
    from axioms.engine.handlers.sweep import sweep
    from axioms.methods.lrp import attnlrp_composite

    if entry.name != "attnlrp" or set(options) - {"epsilon"}:
        raise InputError("a sweep bypasses the softmax of `attnlrp`, with no option but `epsilon`.")
    composite = attnlrp_composite(options.get("epsilon", 0.0))
    swept = sweep(model, inputs, target, composite, kinds, batch_size=batch_size, progress=progress)
    every = {setting: Attribution(scores, output, output, entry.name) for setting, scores in swept.scores.items()}
    return Swept(swept.layers, every)


def _per_feature(name: str, scores: Any, inputs: Inputs) -> Tensor:
    """Return scores as batch x features: summed over the width of an embedding."""
    import torch

    if not isinstance(scores, torch.Tensor):
        raise InputError(f"method {name!r} must return a tensor of scores, not {type(scores).__name__}.")
    wanted = inputs.features.shape
    if scores.shape not in (wanted, wanted[:2]):
        raise InputError(
            f"method {name!r} returned scores of shape {tuple(scores.shape)}; return {tuple(wanted[:2])}, one for each "
            "example and feature, or the shape of `inputs.features`."
        )
    return scores.flatten(2).sum(2) if scores.dim() > 2 else scores
