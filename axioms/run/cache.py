"""Measurements of earlier runs, used again where nothing that they could depend on has changed.

The key of a measurement is a digest of everything that goes into it: the numbers of the model, of its inputs and of its
target, as they were built; what the spec and its fixtures say; the axiom and the method with their options; the source
of this package and of every other loaded module that is not installed (a `conftest.py`, a user's own method); and the
versions of the packages that compute. A method that is reached by an adapter is always measured anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from axioms.core.values import Values

if TYPE_CHECKING:
    from axioms.subjects.built import BuiltSubject

COMPUTE = ("torch", "transformers", "tokenizers", "numpy", "scipy", "torchvision")
PACKAGE = Path(__file__).resolve().parents[1]
GENERATIONS = 3
"""States of the code whose measurements are kept; older ones are deleted."""


class Kept:
    """A folder of measurements, one subfolder for each state of the code."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        self.used, self.made = 0, 0
        """How many measurements were found here, and how many were put here."""

    def get(self, key: str) -> dict[str, Values] | None:
        """The values under a key; None where there are none, or the file is damaged."""
        file = self._file(key)
        try:
            # Opened here: numpy leaves a damaged file open.
            with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
                names = json.loads(str(arrays["names"]))
                found = {name: _unmasked(arrays[f"v{i}"], arrays[f"m{i}"]) for i, name in enumerate(names)}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None
        self.used += 1
        return found

    def put(self, key: str, values: Mapping[str, Values]) -> None:
        """Keep values under a key; whole or not at all. A full disk is no reason to stop."""
        file = self._file(key)
        arrays: dict[str, Any] = {"names": np.array(json.dumps(list(values)))}
        for i, value in enumerate(values.values()):
            arrays[f"v{i}"], arrays[f"m{i}"] = np.ma.getdata(value), np.ma.getmask(value)
        part = file.with_suffix(f".{os.getpid()}.part")
        try:
            if not file.parent.is_dir():
                file.parent.mkdir(parents=True)
                self._forget_old()
            with part.open("wb") as handle:
                np.savez(handle, **arrays)
            part.replace(file)
        except OSError:
            return
        self.made += 1

    def _file(self, key: str) -> Path:
        return self._root / code_digest()[:16] / f"{key}.npz"

    def _forget_old(self) -> None:
        folders = sorted(self._root.iterdir(), key=lambda folder: folder.stat().st_mtime)
        for folder in folders[:-GENERATIONS]:
            for file in folder.iterdir():
                file.unlink(missing_ok=True)
            folder.rmdir()


def _unmasked(values: Any, mask: Any) -> Values:
    return np.ma.masked_array(values, mask) if mask.shape else values


def key_of(subject: str, *what: Any) -> str:
    """The key of a measurement on a subject (its digest), from the axiom, the method and their options."""
    return hashlib.sha256(json.dumps([subject, *what], sort_keys=True, default=str).encode()).hexdigest()


def descriptors(described: Any, spec_file: Path) -> list[Any]:
    """What the fixtures say that a subject's description names, wherever in it."""
    from axioms.subjects.fixtures import find_descriptor

    if isinstance(described, list):
        return [found for each in described for found in descriptors(each, spec_file)]
    if not isinstance(described, dict):
        return []
    named = find_descriptor(described["name"], spec_file) if isinstance(described.get("name"), str) else None
    inner = [found for each in described.values() for found in descriptors(each, spec_file)]
    return inner if named is None else [named.model_dump(mode="json"), *inner]


def subject_digest(subject: BuiltSubject, *described: Any) -> str:
    """A digest of a subject as it was built, and of what describes it."""
    digest = hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode())
    for name, side in subject.sides.items():
        module = side.model.module
        kinds = sorted({f"{type(each).__module__}.{type(each).__qualname__}" for each in module.modules()})
        settings = getattr(getattr(module, "config", None), "to_json_string", str)()
        digest.update(json.dumps([name, kinds, settings, side.batch_size]).encode())
        _add(digest, module.state_dict())
        _add(digest, side.inputs)
    _add(digest, subject.target)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add whatever a subject is made of: tensors by their numbers, everything else by what it shows."""
    import torch

    if isinstance(value, torch.Tensor):
        digest.update(f"{value.dtype} {tuple(value.shape)}".encode())
        if not value.is_meta:
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, Mapping):
        for name, each in value.items():
            digest.update(str(name).encode())
            _add(digest, each)
    elif isinstance(value, list | tuple):
        for each in value:
            _add(digest, each)
    elif is_dataclass(value):
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    else:
        digest.update(repr(value).encode())


@cache
def code_digest() -> str:
    """A digest of all code that is not installed, and of the versions of what is."""
    import torch

    digest = hashlib.sha256()
    for file in sorted({*PACKAGE.rglob("*.py"), *_own_files()}):
        digest.update(str(file).encode() + file.read_bytes())
    threads = torch.get_num_threads()
    digest.update(json.dumps([platform.platform(), sys.version, threads, [*_versions()]]).encode())
    return digest.hexdigest()


def _own_files() -> Iterable[Path]:
    """The files of loaded modules that lie in no installation of Python."""
    installed = tuple(f"{Path(prefix).resolve()}{os.sep}" for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix})
    for module in list(sys.modules.values()):
        named = getattr(module, "__file__", None)
        file = Path(named).resolve() if named else None
        if file is not None and file.suffix == ".py" and file.is_file() and not str(file).startswith(installed):
            yield file


def _versions() -> Iterable[str]:
    for package in COMPUTE:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} none"
