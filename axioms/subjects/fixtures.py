"""Subjects that specs name, described in YAML in a `fixtures/` folder beside (or above) the specs."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from axioms.core.entries import Registered
from axioms.core.errors import InputError, Problem, SpecError, did_you_mean
from axioms.core.registry import DATA, SUBJECTS
from axioms.core.source import Document, read
from axioms.core.suite import suite_folder
from axioms.subjects.assets import find_asset
from axioms.subjects.paths import resolved

FOLDER = "fixtures"


class Descriptor(BaseModel):
    """One fixture: what builds it, from which files, and where those come from."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: Literal["model", "data"]
    build: str = Field(description="Name of the registered subject or data source that builds it.")
    options: dict[str, Any] = {}
    weights: str | None = Field(None, description="A safetensors file, relative to the descriptor.")
    files: dict[str, str] = Field({}, description="Data files by name, relative to the descriptor.")
    asset: str | None = Field(None, description="An asset of fixtures/assets.yaml; the builder gets its folder.")
    source: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    made_by: str | None = None
    note: str | None = None
    file: Path = Path()

    @cached_property
    def weights_file(self) -> Path | None:
        """The absolute path of the weights; None where it has none."""
        return None if self.weights is None else self.file.parent / self.weights

    def build_options(self, overrides: dict[str, Any], asset_folder: Path | None = None) -> dict[str, Any]:
        """Return the options for the builder: the descriptor's, the spec's on top, and the files' absolute paths.

        Without `asset_folder` the asset is its name: specs are validated before anything is fetched.
        """
        files = (
            {"files": {name: str(self.file.parent / path) for name, path in self.files.items()}} if self.files else {}
        )
        asset = {"asset": str(asset_folder or self.asset)} if self.asset is not None else {}
        return {**resolved(self.builder, self.options, self.file), **overrides, **files, **asset}

    @property
    def builder(self) -> Registered:
        """The registered subject or data source that builds it."""
        return (SUBJECTS if self.kind == "model" else DATA).get(self.build)


def find_descriptor(name: str, spec_file: Path) -> Descriptor | None:
    """Return the nearest `fixtures/NAME.yaml`: beside the spec, then upwards, then the suite's; None where none is."""
    if not re.fullmatch(r"[\w.-]+", name):
        return None
    for folder in (*spec_file.resolve().parents, suite_folder()):
        file = folder / FOLDER / f"{name}.yaml"
        if file.is_file():
            return _read(file)
    return None


def _read(file: Path) -> Descriptor:
    document = read(file)
    problems: list[Problem] = []
    try:
        descriptor = Descriptor.model_validate({**document.value, "file": file})
    except ValidationError as error:
        for detail in error.errors():
            is_unknown = detail["type"] == "extra_forbidden"
            hint = did_you_mean(str(detail["loc"][-1]), Descriptor.model_fields) if is_unknown else ""
            problems.append(document.problem(tuple(detail["loc"]), f"{detail['msg']}.{hint}"))
        raise SpecError(problems) from None
    problems += _missing_files(document, descriptor)
    registry = SUBJECTS if descriptor.kind == "model" else DATA
    if descriptor.build not in registry:
        what = f"unknown {registry.what} {descriptor.build!r}.{did_you_mean(descriptor.build, registry)}"
        problems.append(document.problem(("build",), what))
    if descriptor.asset is not None:
        try:
            find_asset(descriptor.asset, file)
        except InputError as error:
            problems.append(document.problem(("asset",), str(error)))
    if problems:
        raise SpecError(problems)
    return descriptor


def _missing_files(document: Document, descriptor: Descriptor) -> list[Problem]:
    places = {("files", name): path for name, path in descriptor.files.items()}
    if descriptor.weights is not None:
        places[("weights",)] = descriptor.weights  # type: ignore[index]
    return [
        document.problem(
            place, f"there is no file {path!r} beside this fixture. Made by: {descriptor.made_by or 'unknown'}."
        )
        for place, path in places.items()
        if not (descriptor.file.parent / path).is_file()
    ]
