"""`fixtures/assets.yaml`: which files an asset has, their SHA-256 and licence, and where they can be had."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from axioms.core.errors import InputError, SpecError, did_you_mean
from axioms.core.source import Document, read
from axioms.core.suite import suite_folder
from axioms.subjects.assets.sources import Sha256, Source, Strict

FILE = "fixtures/assets.yaml"
DATA_FORMATS = (".safetensors", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".gguf", ".parquet", ".onnx", ".data")
"""What an asset may hold. Anything else could be code, or (pickles) run code when it is opened."""


class File(Strict):
    """What a file must be, whichever source it comes from."""

    sha256: Sha256
    size: int = Field(gt=0)


class Asset(Strict):
    """Files that belong together, and their sources in the order in which to try them."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    about: str
    licence: str = Field(min_length=1)
    files: dict[str, File] = Field(min_length=1)
    sources: list[Source] = Field(min_length=1)

    @field_validator("files")
    @classmethod
    def _data_only(cls, files: dict[str, File]) -> dict[str, File]:
        for name in files:
            if Path(name).name != name or name.startswith("."):
                raise ValueError(f"{name!r} must be a plain file name")
            if Path(name).suffix not in DATA_FORMATS:
                raise ValueError(f"{name!r} is not of a data format; an asset holds {', '.join(DATA_FORMATS)}")
        return files

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(file.size for file in self.files.values())

    @property
    def folder_name(self) -> str:
        """Its folder in the cache: another list of files has another folder, so that two versions never mix."""
        listed = "\n".join(f"{name} {file.sha256}" for name, file in sorted(self.files.items()))
        return f"{self.name}-{hashlib.sha256(listed.encode()).hexdigest()[:12]}"


def read_manifest(file: Path) -> dict[str, Asset]:
    """Return the assets that a manifest lists, or raise a `SpecError` with file and line."""
    return dict(_assets(read(file)))


@lru_cache(maxsize=64)  # `read` returns the same document until the file changes, and every fixture with an asset asks
def _assets(document: Document) -> Mapping[str, Asset]:
    assets, problems = {}, []
    for name, raw in document.value.items():
        try:
            assets[name] = Asset.model_validate({**raw, "name": name} if isinstance(raw, dict) else raw)
        except ValidationError as error:
            for detail in error.errors():
                hint = ""
                if detail["type"] == "extra_forbidden":
                    hint = did_you_mean(str(detail["loc"][-1]), Asset.model_fields)
                problems.append(document.problem((name, *detail["loc"]), f"{detail['msg']}.{hint}"))
    if problems:
        raise SpecError(problems)
    return assets


def manifests(near: Path) -> Iterator[Path]:
    """Yield the manifests beside or above `near`, then the working directory, then the suite's; nearest first."""
    seen = set()
    for start in (near, Path.cwd(), suite_folder()):
        for folder in (start.resolve(), *start.resolve().parents):
            file = folder / FILE
            if file not in seen and file.is_file():
                seen.add(file)
                yield file


def known_assets(near: Path) -> dict[str, Asset]:
    """Return all assets in reach by name; of two with the same name, the nearest."""
    assets: dict[str, Asset] = {}
    for file in manifests(near):
        assets = {**read_manifest(file), **assets}
    return assets


def find_asset(name: str, near: Path) -> Asset:
    """Return the asset of this name, or raise an `InputError` with a suggestion."""
    known = known_assets(near)
    if name not in known:
        raise InputError(
            f"there is no asset {name!r} in any {FILE} beside or above the spec.{did_you_mean(name, known)}"
        )
    return known[name]
