"""A spec's subject to models and inputs on the run's device, in the run's dtype."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from axioms.errors import InputError, SubjectWarning
from axioms.registry import DATA, SUBJECTS, Registered
from axioms.rewrites.apply import Moved, checked_rewrite
from axioms.subjects.assets import Report, locate
from axioms.subjects.data import Data
from axioms.subjects.fixtures import Descriptor, find_descriptor
from axioms.subjects.hub import named_directly
from axioms.subjects.inputs import Inputs, read_inputs
from axioms.subjects.language import LanguageModel, Tokens, tokenize
from axioms.subjects.model import Model
from axioms.subjects.paths import resolved
from axioms.subjects.removals import Removal
from axioms.subjects.targets import Target, choose

if TYPE_CHECKING:
    from axioms.attribution import Attribution
    from axioms.spec import Run, Subject
    from axioms.spec.references import RewriteRef
    from axioms.subjects.agreement.benchmark import Agreement

ONLY = "model"
"""The name of the one side of a subject that is not a pair."""


@dataclass(frozen=True)
class Placement:
    """Where and in which precision a run computes."""

    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True)
class Side:
    """One model of a subject with the inputs it is given."""

    name: str
    model: Model
    inputs: Inputs
    batch_size: int
    moved: Moved | None = None
    """Where a rewrite of the inputs put the examples and features of the left side."""
    memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What several axioms need and one computes, by what it depends on."""

    @cached_property
    def outputs(self) -> Tensor:
        """All outputs of the plain forward pass, in the order of the data."""
        outputs = outputs_of(self.model, self.inputs, self.batch_size)
        return outputs if self.moved is None else self.moved.back(outputs)

    def own(self, target: Target) -> Target:
        """The target in the order of this side's examples."""
        return target if self.moved is None or self.moved.order is None else target.select(self.moved.order)

    def restored(self, found: Attribution) -> Attribution:
        """Relevance in the order of the data, of the features that the data has."""
        if self.moved is None:
            return found
        scores, output, total = (self.moved.back(each) for each in (found.scores, found.output, found.total))
        return replace(found, scores=scores[:, : self.moved.length], output=output, total=total)


def outputs_of(model: Model, inputs: Inputs, batch_size: int) -> Tensor:
    """The outputs of the plain forward pass, batch by batch."""
    with torch.no_grad(), model.at_rest():
        chunks = range(0, len(inputs), batch_size)
        return torch.cat([model(inputs.rows(start, start + batch_size)) for start in chunks])


@dataclass(frozen=True)
class BuiltSubject:
    """A subject ready to be attributed: its sides share data and target."""

    sides: Mapping[str, Side]
    target: Target
    data: Data
    tokens: tuple[tuple[str, ...], ...] = ()
    """The tokens of each text, special ones included, without padding; nothing where the data are no texts."""


def placement(run: Run) -> Placement:
    """The run's device (`auto` is CUDA where there is one) and dtype."""
    name = run.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"unknown device {name!r}; use auto, cpu, cuda or cuda:N.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError("device 'cuda' was asked for, and torch sees no CUDA device; use --axioms-device auto or cpu.")
    return Placement(device, getattr(torch, run.dtype))


def build_subject(subject: Subject, run: Run, spec_file: Path, report: Report | None = None) -> BuiltSubject:
    """Build the model or the pair, load the data, choose the target; `report` is told of what has to be fetched."""
    loaded = _load_data(subject.data.name, subject.data.options, spec_file, report)
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
            loaded = asked(loaded, model)
        given: Tensor | Mapping[str, Tensor] = loaded.inputs
        if loaded.texts:
            split = tokenize(model, loaded.texts, loaded.max_length)
            given = split.inputs
            splittings.append(split)
        sides[name] = placed_side(name, model, given, subject.remove, run)
    # One target for both sides: two models that differ by rounding must not be asked about different classes.
    outputs = next(iter(sides.values())).outputs
    forms = None if loaded.agreement is None else loaded.agreement.forms()
    built = BuiltSubject(
        sides, choose(subject.target, outputs, loaded.labels, forms), loaded, _tokens(splittings, loaded)
    )
    return built if loaded.agreement is None else _only_right(built, loaded.agreement, outputs)


def placed_side(
    name: str, model: LanguageModel, given: Tensor | Mapping[str, Tensor], remove: Removal | None, run: Run
) -> Side:
    """A model and its inputs on the run's device, in the run's dtype."""
    place = placement(run)
    module = model.module.to(place.device, place.dtype)
    inputs = read_inputs(module, moved(given, place), remove, run.seed)
    return Side(name, Model(module), model.read_at(inputs), run.batch_size)


def asked(loaded: Data, model: LanguageModel) -> Data:
    """Sentences of the agreement benchmark as the texts that this model reads."""
    assert loaded.agreement is not None
    fitted = loaded.agreement.for_model(model)
    return replace(loaded, agreement=fitted, texts=fitted.texts)


def _only_right(built: BuiltSubject, agreement: Agreement, outputs: Tensor) -> BuiltSubject:
    """The subject with those sentences alone in which the model prefers the form that agrees."""
    agrees, other = (Target(form.to(outputs.device))(outputs) for form in agreement.forms())
    index = torch.nonzero(agrees > other).squeeze(1)
    kept = agreement.only(index.tolist())
    sides = {name: replace(side, inputs=side.inputs.select(index), memory={}) for name, side in built.sides.items()}
    tokens = tuple(built.tokens[place] for place in index.tolist())
    data = replace(built.data, agreement=kept, texts=kept.texts)
    return BuiltSubject(sides, built.target.select(index), data, tokens)


def _tokens(splittings: Sequence[Tokens], loaded: Data) -> tuple[tuple[str, ...], ...]:
    """The tokens of the texts, which must be the same for both models of a pair: features are compared one by one."""
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
    """The pair of a model and what a rewrite makes of it, which was checked in float64."""
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


def moved(inputs: Tensor | Mapping[str, Tensor], place: Placement) -> Tensor | dict[str, Tensor]:
    """The inputs on the device, floating-point ones in the dtype."""
    if isinstance(inputs, Tensor):
        return inputs.to(place.device, place.dtype if inputs.is_floating_point() else inputs.dtype)
    return {
        name: value.to(place.device, place.dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }


def load_module(name: str, options: Mapping[str, Any], spec_file: Path, seed: int = 0) -> torch.nn.Module:
    """The module of a model by name."""
    return load_model(name, options, spec_file, seed).module


def load_model(
    name: str, options: Mapping[str, Any], spec_file: Path, seed: int = 0, report: Report | None = None
) -> LanguageModel:
    """A model by name: a fixture near the spec, else a registered subject, else one of the hub or in a folder."""
    descriptor = find_descriptor(name, spec_file)
    if descriptor is None and name not in SUBJECTS:
        name, options = named_directly(name, options) or (name, options)
    build = SUBJECTS.get(descriptor.build if descriptor else name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        built = build.function(**_final_options(build, descriptor, options, spec_file, report))
    model = built if isinstance(built, LanguageModel) else LanguageModel(built)
    if descriptor is not None and descriptor.weights_file is not None:
        from safetensors.torch import load_file

        model.module.load_state_dict(load_file(descriptor.weights_file))
    return model


def _final_options(
    entry: Registered, descriptor: Descriptor | None, options: Mapping[str, Any], spec_file: Path, report: Report | None
) -> dict[str, Any]:
    """What the builder is called with: paths absolute, and the asset fetched if it has to be."""
    given = resolved(entry, options, spec_file)
    if descriptor is None:
        return given
    folder = None if descriptor.asset is None else locate(descriptor.asset, descriptor.file, report)
    return descriptor.build_options(given, folder)


def _load_data(name: str, options: Mapping[str, Any], spec_file: Path, report: Report | None) -> Data:
    descriptor = find_descriptor(name, spec_file)
    source = DATA.get(descriptor.build if descriptor else name)
    loaded = source.function(**_final_options(source, descriptor, options, spec_file, report))
    if not isinstance(loaded, Data):
        raise InputError(f"data source {source.name!r} must return axioms.subjects.Data, not {type(loaded).__name__}.")
    return loaded
