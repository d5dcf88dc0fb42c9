"""From a spec's subject to models and inputs on the run's device, in the run's dtype."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from axioms.core.errors import InputError, SubjectWarning
from axioms.core.workers import gpu_of, this_worker
from axioms.model.inputs import read_inputs
from axioms.model.module import Model
from axioms.model.removals import Removal
from axioms.model.targets import Target, choose
from axioms.rewrites.apply import checked_rewrite
from axioms.spec import Run, Subject
from axioms.spec.references import RewriteRef
from axioms.subjects.agreement.benchmark import Agreement
from axioms.subjects.assets import Report
from axioms.subjects.built import ONLY, BuiltSubject, Placement, Side, move_inputs
from axioms.subjects.data import Data
from axioms.subjects.load import load_data, load_model
from axioms.subjects.models.language import LanguageModel, Tokens, tokenize


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


def build_subject(subject: Subject, run: Run, spec_file: Path, report: Report | None = None) -> BuiltSubject:
    """Build the model or the pair, load the data, choose the target; fetching is reported to `report`."""
    loaded = load_data(subject.data.name, subject.data.options, spec_file, report)
    if subject.pair is not None and subject.pair.left is not None and subject.pair.right is not None:
        references = {"left": subject.pair.left, "right": subject.pair.right}
    elif subject.model is not None:
        references = {ONLY: subject.model}
    else:  # the schema has ruled this out
        raise AssertionError("a subject is a model or a pair; one that a rewrite makes is built by `rewritten_subject`")
    sides, splittings = {}, []
    for name, reference in references.items():
        model = load_model(reference.name, reference.options, spec_file, run.seed, report)
        if loaded.agreement is not None and not loaded.texts:
            loaded = fit(loaded, model)
        given: Tensor | Mapping[str, Tensor] = loaded.inputs
        if loaded.texts:
            split = tokenize(model, loaded.texts, loaded.max_length)
            given = split.inputs
            splittings.append(split)
        sides[name] = placed_side(name, model, given, subject.remove, run)
    # One target for both sides: two models that differ by rounding must explain the same class.
    outputs = next(iter(sides.values())).outputs
    forms = None if loaded.agreement is None else loaded.agreement.forms()
    built = BuiltSubject(
        sides, choose(subject.target, outputs, loaded.labels, forms), loaded, _tokens(splittings, loaded)
    )
    return built if loaded.agreement is None else _only_correct(built, loaded.agreement, outputs)


def placed_side(
    name: str, model: LanguageModel, given: Tensor | Mapping[str, Tensor], remove: Removal | None, run: Run
) -> Side:
    """Return a model and its inputs on the run's device, in the run's dtype."""
    place = placement(run)
    module = model.module.to(place.device, place.dtype)
    inputs = read_inputs(module, move_inputs(given, place), remove, run.seed)
    return Side(name, Model(module), model.read_at(inputs), run.batch_size)


def fit(loaded: Data, model: LanguageModel) -> Data:
    """Return sentences of the agreement benchmark as the texts that this model reads."""
    assert loaded.agreement is not None
    fitted = loaded.agreement.for_model(model)
    return replace(loaded, agreement=fitted, texts=fitted.texts)


def _only_correct(built: BuiltSubject, agreement: Agreement, outputs: Tensor) -> BuiltSubject:
    """Return the subject with those sentences alone in which the model prefers the form that agrees."""
    agrees, other = (Target(form.to(outputs.device))(outputs) for form in agreement.forms())
    index = torch.nonzero(agrees > other).squeeze(1)
    correct = agreement.keep_correct(index.tolist())
    sides = {name: replace(side, inputs=side.inputs.select(index)) for name, side in built.sides.items()}
    tokens = tuple(built.tokens[example] for example in index.tolist())
    data = replace(built.data, agreement=correct, texts=correct.texts)
    return BuiltSubject(sides, built.target.select(index), data, tokens)


def _tokens(splittings: Sequence[Tokens], loaded: Data) -> tuple[tuple[str, ...], ...]:
    """Return the tokens of the texts, the same for both models of a pair: features are compared one by one."""
    if not splittings:
        return ()
    first = splittings[0]
    if any(other.strings != first.strings for other in splittings):
        raise InputError(
            "the two models of the pair split the texts into different tokens, so nothing can be compared."
        )
    if first.cut and loaded.max_length is None:
        warnings.warn(
            f"{first.cut} of {len(loaded.texts)} texts are longer than the model's limit and were cut there; "
            "`max_length` says where to cut, `max_words` leaves long ones out.",
            SubjectWarning,
            stacklevel=2,
        )
    return first.strings


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
