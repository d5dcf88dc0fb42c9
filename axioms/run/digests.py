"""Digests of everything that a measurement by this package's own code depends on.

They cover the numbers of the model and of its data, as they were loaded, and the files that define the classes of the
model; what the spec and its fixtures say; the source of this package and of every other loaded module that is not
installed (a `conftest.py`, a user's method); the versions of the packages that compute, torch's settings, and the
variables and the processor that decide how it computes. What a user's code reads besides is not covered (see `ours`).
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
    from torch import nn

    from axioms.run.source import Source

COMPUTE = ("torch", "transformers", "tokenizers", "numpy", "scipy", "torchvision")
VARIABLES = """MKL_CBWR MKL_DEBUG_CPU_TYPE MKL_ENABLE_INSTRUCTIONS DNNL_DEFAULT_FPMATH_MODE DNNL_MAX_CPU_ISA
    ONEDNN_DEFAULT_FPMATH_MODE ONEDNN_MAX_CPU_ISA OPENBLAS_CORETYPE CUBLAS_WORKSPACE_CONFIG NVIDIA_TF32_OVERRIDE
    TORCH_ALLOW_TF32_CUBLAS_OVERRIDE""".split()
"""Variables by which torch's libraries choose how to compute."""
SITES = {"site-packages", "dist-packages"}
"""Where packages are installed, also outside of the running Python's own folder."""
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
        for file in sorted({type(part).__module__ for part in module.modules()}):
            digest.update(_source_of(file))
        _add(digest, module.state_dict())
        for part in module.modules():
            _add(digest, _attributes(part))
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


def _attributes(part: nn.Module) -> dict[str, Any]:
    """Return what a module computes with beside its weights: buffers that are not saved, and plain attributes."""
    import torch

    kinds = (bool, int, float, str, torch.Tensor)
    plain = {name: value for name, value in vars(part).items() if isinstance(value, kinds)}
    return {**plain, **dict(part.named_buffers(recurse=False))}


@cache
def _source_of(module: str) -> bytes:
    """Return a digest of the file of a loaded module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes() if file and Path(file).is_file() else b"").digest()


@cache
def code_digest() -> str:
    """Return a digest of all code that is not installed."""
    digest = hashlib.sha256()
    for file in sorted({*PACKAGE.rglob("*.py"), *_loaded_files()}):
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()


def surroundings() -> list[Any]:
    """Return what else the numbers of this process depend on: the machine, its versions, settings and threads."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    processor = torch.backends.cpu.get_cpu_capability()
    machine = [platform.platform(), processor, gpu, sys.version, torch.get_num_threads()]
    return [machine, [*_versions()], _torch_settings(), variables]


def _torch_settings() -> list[str]:
    """Return torch's settings that change the last digits of a number, or more."""
    import torch

    backends = torch.backends
    return [
        str(setting)
        for setting in (
            torch.get_default_dtype(),
            torch.get_float32_matmul_precision(),
            torch.are_deterministic_algorithms_enabled(),
            backends.mkldnn.enabled,
            backends.cudnn.allow_tf32,
            backends.cudnn.deterministic,
            backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
            backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
        )
    ]


def _loaded_files() -> Iterable[Path]:
    """Yield the files of loaded modules that lie in no installation of Python."""
    installed = tuple(f"{Path(prefix).resolve()}{os.sep}" for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix})
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        file = Path(path).resolve() if path else None
        if file is None or file.suffix != ".py" or not file.is_file():
            continue
        if not str(file).startswith(installed) and not SITES.intersection(file.parts):
            yield file


def _versions() -> Iterable[str]:
    for package in COMPUTE:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package} none"
