"""One call for every method: `attribute(model, inputs, target, method)`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError
from axioms.core.registry import METHODS
from axioms.engine.attribution import Attribution
from axioms.methods.estimates import difference
from axioms.methods.running import run_method_choosing
from axioms.model.inputs import read_inputs

if TYPE_CHECKING:
    import torch
    from torch import Tensor


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
    """Return the relevance of every feature for the target output.

    `inputs` is a tensor (batch x features) or a mapping for the model's forward pass; `target` is `predicted`, a class
    number, a tensor with one per example, or `{"probability": ...}` or `{"logit_difference": ...}`; `remove` is what
    removing a feature means (`"delete"`, `{"kind": "delete", "chunk": 16}`); `options` are the method's own. With
    `ledger=True` the result says what biases, positions, the stabilizer, softmax and norms absorbed;
    `print(result.ledger.table())`. An operation that no rule covers raises; with `strict=False` relevance crosses it by
    the plain gradient, and the ledger says so. With `at`, the result holds the relevance there as well: `layer.6`,
    `layer.6.heads`, `layer.6.mlp`, `layer.6.queries`, `layer.6.keys`, or the path of a module.
    """
    import torch

    from axioms.engine.handlers.ledger import recording
    from axioms.engine.handlers.tap import Tap, tapping
    from axioms.engine.nesting import from_scratch
    from axioms.model.forms import unwrapped
    from axioms.model.module import Model, lock_of

    entry = METHODS.get(method)
    entry.check_options(options)
    model = unwrapped(model)
    wrapped = Model(model)
    taps = [Tap(at)] if at else []
    with torch.inference_mode(False), lock_of(model), from_scratch(model):
        read = read_inputs(model, inputs, remove)
        size = len(read) if at else batch_size or len(read)
        books = recording(strict=strict) if ledger or not strict else nullcontext()
        with books as book, tapping(*taps):
            attribution = run_method_choosing(entry, wrapped, read, target, batch_size=size, options=options)
    if book is not None and not book.entries and not book.uncovered:
        raise InputError(f"method {method!r} does not propagate relevance, so it has no ledger.")
    if taps and (taps[0].value is None or taps[0].gradient is None):
        raise InputError(f"method {method!r} brought no relevance to {at!r}.")
    estimate = entry.estimate or difference
    return replace(attribution, ledger=book, at=estimate(taps[0], 0.0) if taps else None)
