"""Digests of everything that a measurement depends on.

They cover the numbers of the model and of its data, as they were loaded; what the spec and its fixtures say; the source
of this package and of every other loaded module that is not installed (a `conftest.py`, a user's method); and the
versions of the packages that compute, with the number of threads. A method that is reached by an adapter has no digest,
because it is other people's code: it is always measured anew.
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

if TYPE_CHECKING:
    from axioms.run.source import Source

COMPUTE = ("torch", "transformers", "tokenizers", "numpy", "scipy", "torchvision")
PACKAGE = Path(__file__).resolve().parents[1]


def descriptors(described: Any, spec_file: Path) -> list[Any]:
    """Return what the fixtures say that a description names, wherever in it."""
    from axioms.subjects.fixtures import find_descriptor

    if isinstance(described, list):
        return [descriptor for part in described for descriptor in descriptors(part, spec_file)]
    if not isinstance(described, dict):
        return []
    named = find_descriptor(described["name"], spec_file) if isinstance(described.get("name"), str) else None
    inner = descriptors(list(described.values()), spec_file)
    return inner if named is None else [named.model_dump(mode="json"), *inner]


def source_digest(source: Source, *described: Any) -> str:
    """Return a digest of a subject's models and data as they were loaded, and of what describes it."""
    digest = hashlib.sha256(json.dumps([*described, source.ids], sort_keys=True, default=str).encode())
    for name, model in source.models.items():
        module = model.module
        kinds = sorted({f"{type(part).__module__}.{type(part).__qualname__}" for part in module.modules()})
        settings = getattr(getattr(module, "config", None), "to_json_string", str)()
        digest.update(json.dumps([name, kinds, settings]).encode())
        _add(digest, module.state_dict())
    _add(digest, source.data)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add to a digest what a subject is made of: tensors by their numbers, everything else by its `repr`."""
    import torch

    if isinstance(value, torch.Tensor):
        digest.update(f"{value.dtype} {tuple(value.shape)}".encode())
        if not value.is_meta:
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, Mapping):
        for name, item in value.items():
            digest.update(str(name).encode())
            _add(digest, item)
    elif isinstance(value, list | tuple):
        for item in value:
            _add(digest, item)
    elif is_dataclass(value):
        for field in fields(value):
            _add(digest, getattr(value, field.name))
    else:
        digest.update(repr(value).encode())


@cache
def code_digest() -> str:
    """Return a digest of all code that is not installed."""
    digest = hashlib.sha256()
    for file in sorted({*PACKAGE.rglob("*.py"), *_loaded_files()}):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def surroundings() -> list[Any]:
    """Return what else the numbers of this process depend on: the machine, its versions, its threads and its GPU."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return [platform.platform(), sys.version, torch.get_num_threads(), gpu, [*_versions()]]


def _loaded_files() -> Iterable[Path]:
    """Yield the files of loaded modules that lie in no installation of Python."""
    installed = tuple(f"{Path(prefix).resolve()}{os.sep}" for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix})
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        file = Path(path).resolve() if path else None
        if file is not None and file.suffix == ".py" and file.is_file() and not str(file).startswith(installed):
            yield file


def _versions() -> Iterable[str]:
    for package in COMPUTE:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} none"
