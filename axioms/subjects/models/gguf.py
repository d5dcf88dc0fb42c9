"""Causal language models from a GGUF file. Their dequantized copy stays in the cache: reading GGUF takes a minute."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from axioms.core.errors import AssetMissing, InputError
from axioms.core.registry import subject
from axioms.subjects.assets import cache_folder
from axioms.subjects.assets.download import sha256_of
from axioms.subjects.models import hub
from axioms.subjects.models.language import LanguageModel, beginning

NEEDED = ("gguf", "accelerate")
SUMS = "sha256.json"


@subject("gguf-causal-lm")
def gguf_causal_lm(*, asset: str, file: str, bos: bool | None = None) -> LanguageModel:
    """A causal language model out of a GGUF file of an asset, dequantized; `bos`: whether a text begins with it."""
    source = Path(asset) / file
    if not source.is_file():
        raise InputError(
            f"the asset has no file {file!r}; it has {', '.join(other.name for other in Path(asset).iterdir())}."
        )
    copy = verified_copy(
        cache_folder() / "dequantized" / f"{Path(asset).name}-{source.stem}", lambda to: _save(source, to)
    )
    model = hub.load("causal-lm", str(copy), None)
    return model if bos is None else beginning(model, bos)


def verified_copy(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return the folder that `make` fills: made once, and again where a file does not have its SHA-256 any more."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not _is_intact(folder):
            shutil.rmtree(folder, ignore_errors=True)
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            (part / SUMS).write_text(json.dumps({file.name: sha256_of(file) for file in part.iterdir()}))
            part.replace(folder)
    return folder


def _is_intact(folder: Path) -> bool:
    try:
        sums = json.loads((folder / SUMS).read_text())
        return all(sha256_of(folder / name) == sha256 for name, sha256 in sums.items())
    except (OSError, ValueError):
        return False


def _save(source: Path, to: Path) -> None:
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise AssetMissing(f"reading {source.name} needs {' and '.join(absent)}: pip install {' '.join(absent)}")
    import torch
    import transformers

    options = {"gguf_file": source.name, "trust_remote_code": False}
    # Newer releases can leave the weights packed, and then cannot save them; older ones always unpack.
    unpack = (
        {"quantization_config": transformers.GgufConfig(dequantize=True)} if hasattr(transformers, "GgufConfig") else {}
    )
    read = transformers.AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **options, **unpack)
    config = read.config.to_dict()
    config.pop("quantization_config", None)
    plain = type(read)(type(read.config).from_dict(config))
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(to)
    transformers.AutoTokenizer.from_pretrained(source.parent, **options).save_pretrained(to)
