"""A spec's subject to models and inputs on the run's device, in the run's dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from axioms.errors import InputError
from axioms.registry import DATA, SUBJECTS
from axioms.rewrites.apply import Moved, checked_rewrite
from axioms.subjects.data import Data
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.inputs import Inputs, read_inputs
from axioms.subjects.model import Model
from axioms.subjects.targets import Target, choose

if TYPE_CHECKING:
    from axioms.attribution import Attribution
    from axioms.spec import Run, Subject
    from axioms.spec.schema import RewriteRef

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


def build_subject(subject: Subject, run: Run, spec_file: Path) -> BuiltSubject:
    """Build the model or the pair, load the data, choose the target."""
    place = placement(run)
    loaded = _load_data(subject.data.name, subject.data.options, spec_file)
    given = moved(loaded.inputs, place)
    if subject.pair is not None and subject.pair.left is not None and subject.pair.right is not None:
        references = {"left": subject.pair.left, "right": subject.pair.right}
    elif subject.model is not None:
        references = {ONLY: subject.model}
    else:  # the schema has ruled this out
        raise AssertionError("a subject is a model or a pair; one that a rewrite makes is built by `rewritten_subject`")
    sides = {}
    for name, reference in references.items():
        module = load_module(reference.name, reference.options, spec_file, run.seed).to(place.device, place.dtype)
        sides[name] = Side(name, Model(module), read_inputs(module, given, subject.remove), run.batch_size)
    # One target for both sides: two models that differ by rounding must not be asked about different classes.
    target = choose(subject.target, next(iter(sides.values())).outputs, loaded.labels)
    return BuiltSubject(sides, target, loaded)


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
    return BuiltSubject({"left": replace(left, name="left"), "right": right}, plain.target, plain.data)


def moved(inputs: Tensor | Mapping[str, Tensor], place: Placement) -> Tensor | dict[str, Tensor]:
    """The inputs on the device, floating-point ones in the dtype."""
    if isinstance(inputs, Tensor):
        return inputs.to(place.device, place.dtype if inputs.is_floating_point() else inputs.dtype)
    return {
        name: value.to(place.device, place.dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }


def load_module(name: str, options: Mapping[str, Any], spec_file: Path, seed: int = 0) -> torch.nn.Module:
    """A model by name: a fixture near the spec, else a registered subject."""
    descriptor = find_descriptor(name, spec_file)
    build = SUBJECTS.get(descriptor.build if descriptor else name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: torch.nn.Module = build.function(**(descriptor.build_options(dict(options)) if descriptor else options))
    if descriptor is not None and descriptor.weights_file is not None:
        from safetensors.torch import load_file

        module.load_state_dict(load_file(descriptor.weights_file))
    return module


def _load_data(name: str, options: Mapping[str, Any], spec_file: Path) -> Data:
    descriptor = find_descriptor(name, spec_file)
    source = DATA.get(descriptor.build if descriptor else name)
    loaded = source.function(**(descriptor.build_options(dict(options)) if descriptor else options))
    if not isinstance(loaded, Data):
        raise InputError(f"data source {source.name!r} must return axioms.subjects.Data, not {type(loaded).__name__}.")
    return loaded
