"""Models and data by name: a fixture near the spec, a registered builder, or a model of the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from axioms.core.entries import Registered
from axioms.core.errors import InputError
from axioms.core.registry import DATA, SUBJECTS
from axioms.model.forms import unwrapped
from axioms.subjects.assets import Report, locate
from axioms.subjects.data import Data
from axioms.subjects.fixtures import Descriptor, find_descriptor
from axioms.subjects.models.hub import named_directly
from axioms.subjects.models.language import LanguageModel
from axioms.subjects.paths import resolved


def load_model(
    name: str, options: Mapping[str, Any], spec_file: Path, seed: int = 0, report: Report | None = None
) -> LanguageModel:
    """Return a model by name: a fixture near the spec, a registered subject, or one of the hub or in a folder."""
    descriptor = find_descriptor(name, spec_file)
    if descriptor is None and name not in SUBJECTS:
        name, options = named_directly(name, options) or (name, options)
    build = SUBJECTS.get(descriptor.build if descriptor else name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        built = build.function(**_final_options(build, descriptor, options, spec_file, report))
    model = built if isinstance(built, LanguageModel) else LanguageModel(built)
    model = replace(model, module=unwrapped(model.module))
    if descriptor is not None and descriptor.weights_file is not None:
        from safetensors.torch import load_file

        model.module.load_state_dict(load_file(descriptor.weights_file))
    return model


def _final_options(
    entry: Registered, descriptor: Descriptor | None, options: Mapping[str, Any], spec_file: Path, report: Report | None
) -> dict[str, Any]:
    """Return the options that the builder is called with: paths absolute, and the asset fetched if it has to be."""
    absolute = resolved(entry, options, spec_file)
    if descriptor is None:
        return absolute
    folder = None if descriptor.asset is None else locate(descriptor.asset, descriptor.file, report)
    return descriptor.build_options(absolute, folder)


def load_data(name: str, options: Mapping[str, Any], spec_file: Path, report: Report | None) -> Data:
    """Return data by name: a fixture near the spec, else a registered data source."""
    descriptor = find_descriptor(name, spec_file)
    source = DATA.get(descriptor.build if descriptor else name)
    loaded = source.function(**_final_options(source, descriptor, options, spec_file, report))
    if not isinstance(loaded, Data):
        raise InputError(f"data source {source.name!r} must return axioms.subjects.Data, not {type(loaded).__name__}.")
    return loaded
