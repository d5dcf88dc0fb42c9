"""A subject before its examples are embedded: its models and its data, from which shards are built one by one.

A shard is some consecutive examples, a whole number of batches. It has the batches and the padding that these examples
have among all, so that it gives the same numbers whoever computes it and whatever else is computed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from axioms.core.errors import InputError, SubjectWarning
from axioms.model.inputs import words_of
from axioms.model.targets import Target, choose
from axioms.run.build import load_models, placed_side
from axioms.run.models import Models
from axioms.spec import Run, Subject
from axioms.subjects.assets import Report
from axioms.subjects.built import BuiltSubject, Side
from axioms.subjects.data import Data
from axioms.subjects.load import load_data
from axioms.subjects.models.language import LanguageModel, tokenize

SHARD = 64
"""Examples in a shard, unless a batch is larger: few enough to be held, enough to be worth sending."""

Bounds = tuple[int, int]
Strings = tuple[tuple[str, ...], ...]
"""The tokens of each text."""


@dataclass(frozen=True)
class Source:
    """The models and the data of a subject; of the data, tensors and texts are held, but nothing that a model made."""

    subject: Subject
    run: Run
    models: Mapping[str, LanguageModel]
    """By the name of the side."""
    data: Data
    pools: Mapping[str, Tensor]
    """The words of all the data by side, where the subject's removal draws from them."""
    ids: str
    """A digest of the tokens that the models read; "" where the data are no texts."""

    @cached_property
    def shards(self) -> tuple[Bounds, ...]:
        """The first example of each shard, and the one behind its last."""
        return shards_of(self.data.count, self.run.batch_size)

    def build(self, start: int, stop: int) -> BuiltSubject:
        """Return the subject with these examples alone."""
        data = self.data.rows(start, stop)
        sides: dict[str, Side] = {}
        tokens: Strings = ()
        for name, model in self.models.items():
            sides[name], tokens = self.side(name, model, data, start)
        # One target for both sides: two models that differ by rounding must explain the same class.
        outputs = next(iter(sides.values())).outputs
        forms = None if data.agreement is None else data.agreement.forms()
        return BuiltSubject(sides, choose(self.subject.target, outputs, data.labels, forms), data, tokens)

    def build_all(self) -> BuiltSubject:
        """Return the subject with all of its examples."""
        return self.build(0, self.data.count)

    def side(self, name: str, model: LanguageModel, data: Data, first: int) -> tuple[Side, Strings]:
        """Return one model with some of the examples, and their tokens where they are texts."""
        given: Tensor | Mapping[str, Tensor] = data.inputs
        tokens: Strings = ()
        if data.texts:
            split = tokenize(model, data.texts, data.max_length, width=data.width, first=first)
            given, tokens = split.inputs, split.strings
        pool = self.pools.get(name)
        side = placed_side(name, model, given, self.subject.remove, self.run, first=first, pool=pool)
        return side, tokens


def shards_of(count: int, batch_size: int) -> tuple[Bounds, ...]:
    """Return the bounds of the shards of so many examples: whole batches, and no last example by itself.

    What compares an example alone with the same example in company needs two.
    """
    size = batch_size * max(1, SHARD // batch_size)
    starts = list(range(0, count, size)) or [0]
    if len(starts) > 1 and count - starts[-1] == 1:
        starts.pop()
    return tuple(zip(starts, [*starts[1:], count], strict=True))


def open_source(
    subject: Subject, run: Run, spec_file: Path, report: Report | None = None, recent: Models | None = None
) -> Source:
    """Load the model or the pair and the data; `recent` has what is loaded already."""
    data = load_data(subject.data.name, subject.data.options, spec_file, report)
    models = load_models(subject, run, spec_file, report, recent or Models())
    if data.agreement is not None and not data.texts:
        agreement = data.agreement.for_model(next(iter(models.values())))
        data = replace(data, agreement=agreement, texts=agreement.texts)
    ids, pools = "", {}
    if data.texts:
        data, ids = _scan(data, models, run.batch_size)
    if subject.remove is not None and subject.remove.kind == "resample":
        pools = {name: _pool(model, data, run.batch_size) for name, model in models.items()}
    source = Source(subject, run, models, data, pools, ids)
    return source if data.agreement is None else _only_correct(source)


def build_subject(subject: Subject, run: Run, spec_file: Path, report: Report | None = None) -> BuiltSubject:
    """Return the subject with all of its examples at once."""
    return open_source(subject, run, spec_file, report).build_all()


def _scan(data: Data, models: Mapping[str, LanguageModel], batch_size: int) -> tuple[Data, str]:
    """Return the data with the width of its texts, and a digest of their tokens.

    The models of a pair must read the same tokens: features are compared one by one.
    """
    ids, words, cut, width = hashlib.sha256(), set(), 0, 0
    for model in models.values():
        strings, cut = hashlib.sha256(), 0
        for start, stop in shards_of(data.count, batch_size):
            split = tokenize(model, data.texts[start:stop], data.max_length, first=start)
            ids.update(split.inputs["input_ids"].numpy().tobytes())
            strings.update(json.dumps(split.strings).encode())
            cut, width = cut + split.cut, max(width, split.inputs["input_ids"].shape[1])
        words.add(strings.digest())
        ids.update(strings.digest())
    if len(words) > 1:
        raise InputError(
            "the two models of the pair split the texts into different tokens, so nothing can be compared."
        )
    if cut and data.max_length is None:
        warnings.warn(
            f"{cut} of {data.count} texts are longer than the model's limit and were cut there; "
            "`max_length` says where to cut, `max_words` leaves long ones out.",
            SubjectWarning,
            stacklevel=2,
        )
    return replace(data, width=width), ids.hexdigest()


def _pool(model: LanguageModel, data: Data, batch_size: int) -> Tensor:
    """Return the words of all the data, in its order, as token ids."""
    if not data.texts:
        given = data.inputs if isinstance(data.inputs, Mapping) else {}
        return words_of(given) if "input_ids" in given else torch.empty(0)
    bounds = shards_of(data.count, batch_size)
    parts = (tokenize(model, data.texts[start:stop], data.max_length, first=start) for start, stop in bounds)
    return torch.cat([words_of(part.inputs) for part in parts])


def _only_correct(source: Source) -> Source:
    """Return the subject with those sentences alone in which the first model prefers the form that agrees."""
    name, model = next(iter(source.models.items()))
    correct: list[int] = []
    for start, stop in source.shards:
        data = source.data.rows(start, stop)
        assert data.agreement is not None
        outputs = source.side(name, model, data, start)[0].outputs
        agrees, other = (Target(form.to(outputs.device))(outputs) for form in data.agreement.forms())
        correct += [start + index for index in torch.nonzero(agrees > other).squeeze(1).tolist()]
    assert source.data.agreement is not None
    agreement = source.data.agreement.keep_correct(correct)
    return replace(source, data=replace(source.data, agreement=agreement, texts=agreement.texts))
