"""Models and their inputs on the run's device, in the run's dtype; and the pair that a rewrite makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.workers import gpu_of, this_worker
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.removals import Removal
from axioms.rewrites.apply import checked_rewrite
from axioms.run.models import Models
from axioms.spec import Run, Subject
from axioms.spec.references import RewriteRef, SubjectRef
from axioms.subjects.assets import Report
from axioms.subjects.built import ONLY, BuiltSubject, Placement, Side, move_inputs
from axioms.subjects.models.language import LanguageModel


def placement(run: Run) -> Placement:
    """Return the run's device (`auto` is CUDA where there is one) and dtype."""
    name = run.device
    if name == "auto":
        name = gpu_of(this_worker()) if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}; use auto, cpu, cuda or cuda:N.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"torch sees no CUDA device for device {name!r}; use --axioms-device auto or cpu.")
    return Placement(device, getattr(torch, run.dtype))


def load_models(
    subject: Subject, run: Run, spec_file: Path, report: Report | None, recent: Models
) -> dict[str, LanguageModel]:
    """Return the subject's model, or both of a pair, by the name of its side, each placed as the run says."""
    if subject.pair is not None and subject.pair.left is not None and subject.pair.right is not None:
        references: dict[str, SubjectRef] = {"left": subject.pair.left, "right": subject.pair.right}
    elif subject.model is not None:
        references = {ONLY: subject.model}
    else:  # the schema has ruled this out
        raise AssertionError("a subject is a model or a pair; one that a rewrite makes is built by `rewritten_subject`")
    place = placement(run)
    return {name: recent.load(reference, run.seed, place, spec_file, report) for name, reference in references.items()}


def placed_side(
    name: str,
    model: LanguageModel,
    given: Tensor | Mapping[str, Tensor],
    remove: Removal | None,
    run: Run,
    *,
    first: int = 0,
    pool: Tensor | None = None,
) -> Side:
    """Return a model and its inputs on the run's device, in the run's dtype; `first` and `pool` as in `read_inputs`."""
    place = placement(run)
    module = model.module.to(place.device, place.dtype)
    inputs = read_inputs(module, move_inputs(given, place), remove, run.seed, first=first, pool=pool)
    return Side(name, Model(module), model.read_at(inputs), run.batch_size)


def rewritten_subject(plain: BuiltSubject, rewrite: RewriteRef, run: Run) -> BuiltSubject:
    """Return the pair of a model and what a rewrite makes of it, which is checked in float64."""
    left = plain.sides[ONLY]
    place = placement(run)
    rewritten, _ = checked_rewrite(rewrite.name, rewrite.options, left.model.module, left.inputs, left.batch_size)
    if rewritten.module is left.model.module:
        module = rewritten.module
    else:
        module = rewritten.module.to(place.device, place.dtype)
    given = rewritten.moved.inputs
    inputs = given.with_features(given.features.to(place.dtype))
    right = Side("right", Model(module), inputs, left.batch_size, rewritten.moved)
    return replace(plain, sides={"left": replace(left, name="left"), "right": right})
