"""From a spec's subject to the sizes of its sides: by what is here, by configurations, or by what is known."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from axioms.commands.plan.known import ARCHITECTURES, SHARES, TEXTS, Architecture, Texts
from axioms.commands.plan.sizes import Size, size_of
from axioms.core.errors import AssetMissing, AxiomsError
from axioms.model.inputs import EMBEDDINGS, Inputs, input_embedding, read_inputs
from axioms.model.module import Model
from axioms.spec import Run, Subject
from axioms.subjects.assets.hub import snapshot
from axioms.subjects.assets.store import OFFLINE
from axioms.subjects.built import ONLY, Placement, move_inputs
from axioms.subjects.data import Data
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.load import load_data, load_model
from axioms.subjects.models.hub import TASKS
from axioms.subjects.models.language import LanguageModel, tokenize

SAMPLE = 64
"""Texts whose lengths are looked at."""
LIMIT = 512
"""Where texts are cut for a model that is not here, whose limit may be any."""

PARSED = ("agreement-file",)
"""Data that take longer to read than to plan."""


class SizeUnknown(Exception):
    """Nothing says how large a subject is."""


@contextmanager
def nothing_fetched() -> Iterator[None]:
    """Forbid every download, and be quiet about models: planning spends nothing and shows nothing of them."""
    before, loud = os.environ.get(OFFLINE), logging.getLogger("transformers")
    os.environ[OFFLINE], level = "1", loud.level
    loud.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        loud.setLevel(level)
        os.environ.pop(OFFLINE) if before is None else os.environ.update({OFFLINE: before})


def sizes_of_subject(subject: Subject, run: Run, spec_file: Path) -> dict[str, Size]:
    """Return the size of the model, or of both of a pair; a model that a rewrite makes is as large as its original."""
    pair, references = subject.pair, {ONLY: subject.model}
    if pair is not None:
        references = {"left": pair.left, "right": pair.right}
    sizes = {}
    for name, reference in references.items():
        assert reference is not None
        found = _find_model(reference.name, reference.options, spec_file, run.seed)
        sizes[name] = _size(found, subject, run, spec_file)
    return sizes


@dataclass(frozen=True)
class FoundModel:
    """A model as it is, or a copy of its shape on the meta device."""

    model: LanguageModel
    assumed: str = ""
    """Where the shape comes from, if the model is not here."""


def _find_model(name: str, options: Mapping[str, Any], spec_file: Path, seed: int) -> FoundModel:
    descriptor = find_descriptor(name, spec_file)
    if descriptor is None and "/" in name:
        return _shape_on_hub(name, str(options.get("task", "classifier")), options.get("revision"))
    try:
        return FoundModel(load_model(name, options, spec_file, seed))
    except AssetMissing as error:
        asset = None if descriptor is None else descriptor.asset
        if asset not in ARCHITECTURES:
            raise SizeUnknown(str(error)) from None
        task = "causal-lm" if ARCHITECTURES[asset].kind == "llama" else "classifier"
        return _shape_known(asset, task)


@cache
def _shape_on_hub(name: str, task: str, revision: str | None) -> FoundModel:
    """Return the shape of a model of the hub by its configuration: in a folder, in the hub's cache, or as known."""
    import transformers

    try:
        folder = Path(name) if Path(name).is_dir() else snapshot(name, revision, ["config.json"])
    except AssetMissing as error:
        if name not in ARCHITECTURES:
            raise SizeUnknown(str(error)) from None
        return _shape_known(name, task)
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return FoundModel(_on_meta(config, task), f"the shape of {name} is that of its configuration")


@cache
def _shape_known(name: str, task: str) -> FoundModel:
    import transformers

    known: Architecture = ARCHITECTURES[name]
    config = transformers.AutoConfig.for_model(known.kind, **known.options)
    return FoundModel(_on_meta(config, task), f"{name} is not here: its shape is what is known of its architecture")


def _on_meta(config: Any, task: str) -> LanguageModel:
    import transformers

    with torch.device("meta"):
        module = getattr(transformers, TASKS[task]).from_config(config, attn_implementation="eager")
    return LanguageModel(module, None, "mask" if task == "masked-lm" else "last")


def _size(found: FoundModel, subject: Subject, run: Run, spec_file: Path) -> Size:
    model, is_meta = found.model, found.assumed != ""
    assumed = [found.assumed] if is_meta else []
    try:
        data = _load_data(subject, spec_file)
    except AxiomsError as error:
        texts = _known_texts(subject, spec_file, model.reads)
        if texts is None or not (is_meta or model.tokenizer is not None):
            raise SizeUnknown(str(error)) from None
        where = f"{subject.data.name} was not read: {texts.examples:,} texts, and lengths by {texts.source}"
        return _size_of_lengths(model, run, texts.examples, texts.lengths, [*assumed, where])
    if is_meta:
        if not data.texts:
            raise SizeUnknown(f"{subject.data.name} holds no texts that a model which is not here could be asked about")
        lengths = [min(LIMIT, round(1.3 * len(text.split())) + 2) for text in _some(data.texts)]
        what = "without its tokenizer, a text has 1.3 tokens a word"
        return _size_of_lengths(model, run, len(data.texts), lengths, [*assumed, what])
    return _size_here(model, data, subject, run)


def _load_data(subject: Subject, spec_file: Path) -> Data:
    if subject.data.name in PARSED:
        raise AssetMissing(f"{subject.data.name} takes a parser, which is not run to count its sentences")
    return load_data(subject.data.name, subject.data.options, spec_file, None)


def _size_of_lengths(
    model: LanguageModel, run: Run, examples: int, lengths: list[int] | tuple[int, ...], assumed: list[str]
) -> Size:
    """Return the size of a model with texts of which nothing but the lengths is known."""
    place = Placement(torch.device("meta"), getattr(torch, run.dtype))
    module = model.module.to(place.device, place.dtype)
    weight: Any = input_embedding(module).weight
    longest = max(lengths)
    ids = torch.zeros(1, longest, dtype=torch.long, device="meta")
    features = torch.empty(1, longest, int(weight.shape[1]), device="meta", dtype=place.dtype)
    sample = Inputs(features, fixed={"input_ids": ids}, slot=EMBEDDINGS)
    return size_of(
        Model(module), sample, examples=examples, batch_size=run.batch_size, lengths=lengths, assumed=assumed
    )


def _size_here(model: LanguageModel, data: Data, subject: Subject, run: Run) -> Size:
    """Return the size of a model and data that are both here, by a sample of the data."""
    place = Placement(torch.device("cpu"), getattr(torch, run.dtype))
    module = model.module.to(place.dtype)
    if data.agreement is not None and not data.texts:
        data = replace(data, texts=data.agreement.for_model(model).texts)
    examples, given = len(data.texts), data.inputs
    if data.texts:
        given = tokenize(model, _some(data.texts), data.max_length).inputs
    elif isinstance(given, torch.Tensor):
        examples = len(given)
    else:
        examples = len(next(iter(given.values())))
    sample = model.read_at(read_inputs(module, move_inputs(given, place), subject.remove, run.seed))
    return size_of(Model(module), sample, examples=examples, batch_size=run.batch_size)


def _some(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts from all over the data, no more than a sample."""
    return texts[:: max(1, len(texts) // SAMPLE)]


def _known_texts(subject: Subject, spec_file: Path, reads: str) -> Texts | None:
    """Return what is known of data that are not here, as many of them as the spec takes."""
    name, options = subject.data.name, dict(subject.data.options)
    descriptor = find_descriptor(name, spec_file)
    merged = {**(descriptor.options if descriptor else {}), **options}
    asset = None if descriptor is None else descriptor.asset
    keys = (f"{asset}/{merged.get('source')}", f"{name}/{merged.get('split')}", f"{name}/{reads}")
    texts = next((TEXTS[key] for key in keys if key in TEXTS), None)
    if texts is None:
        return None
    most = merged.get("max_length") or LIMIT
    available = round(texts.examples * SHARES.get(str(merged.get("split")), 1.0)) if asset else texts.examples
    return replace(
        texts,
        examples=int(merged.get("n") or available),
        lengths=tuple(min(length, int(most)) for length in texts.lengths),
    )
