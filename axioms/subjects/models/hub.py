"""Models on the hub, or in a folder laid out as one: configuration, safetensors and tokenizer. Nobody's code is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from axioms.core.errors import AssetMissing, InputError, did_you_mean
from axioms.core.registry import subject
from axioms.subjects.assets.hub import first_line, snapshot
from axioms.subjects.models.language import LanguageModel, beginning
from axioms.subjects.paths import FolderOrName

TASKS = {
    "classifier": "AutoModelForSequenceClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
}
SAVED_AS = {
    "ForSequenceClassification": "classifier",
    "ForMaskedLM": "masked-lm",
    "ForCausalLM": "causal-lm",
    "LMHeadModel": "causal-lm",
}
"""How the classes of transformers end, by task."""
DATA_ONLY = ["*.json", "*.safetensors", "*.txt", "*.model"]
"""What is fetched of a repository: no pickles, no Python."""


@subject("hub-classifier")
def hub_classifier(*, name: FolderOrName, revision: str | None = None) -> LanguageModel:
    """A sequence classifier by its name on the hub, or from a folder."""
    return load("classifier", name, revision)


@subject("hub-masked-lm")
def hub_masked_lm(*, name: FolderOrName, revision: str | None = None) -> LanguageModel:
    """A masked language model by its name on the hub, or from a folder; read at the mask token of each text."""
    return load("masked-lm", name, revision)


@subject("hub-causal-lm")
def hub_causal_lm(*, name: FolderOrName, revision: str | None = None) -> LanguageModel:
    """A causal language model by its name on the hub, or from a folder; read at the last token of each text."""
    return load("causal-lm", name, revision)


@subject("asset-model")
def asset_model(
    *, asset: str, task: Literal["classifier", "masked-lm", "causal-lm"], bos: bool | None = None
) -> LanguageModel:
    """A model in the folder of an asset, for one task; `bos` says whether a text begins with that token."""
    model = load(task, asset, None)
    return model if bos is None else beginning(model, bos)


def named_directly(name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the registered subject and its options of `owner/model: {task: causal-lm}`; None without a slash."""
    if "/" not in name:
        return None
    rest = dict(options)
    task = rest.pop("task", "classifier")
    if task not in TASKS:
        raise InputError(f"there is no task {task!r}.{did_you_mean(str(task), TASKS)}")
    return f"hub-{task}", {"name": name, **rest}


def declared_task(name: str, revision: str | None = None) -> str | None:
    """Return the task that a model's configuration says it was saved for; None where that is none of ours."""
    folder = Path(name) if Path(name).is_dir() else snapshot(name, revision, ["config.json"])
    try:
        classes = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures") or [""]
    except (OSError, ValueError, AttributeError):
        return None
    return next((task for end, task in SAVED_AS.items() if str(classes[0]).endswith(end)), None)


def load(task: str, name: str, revision: str | None) -> LanguageModel:
    """Return the model and its tokenizer from a folder or the hub, for one of TASKS."""
    import transformers
    from safetensors import SafetensorError

    folder = Path(name) if Path(name).is_dir() else snapshot(name, revision, DATA_ONLY)
    what = f"{name!r}" + (f" at revision {revision!r}" if revision else "")
    if not any(folder.glob("*.safetensors")):
        raise AssetMissing(
            f"{what} has no safetensors weights, and formats that can run code are not opened. Name a `revision` that "
            "has them (the hub's conversion bot leaves one under refs/pr/N), or save_pretrained() the model to a "
            "folder and name that."
        )
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        module, info = getattr(transformers, TASKS[task]).from_pretrained(
            folder, **safe, use_safetensors=True, output_loading_info=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise InputError(f"{what} cannot be opened as a {task}: {first_line(error)}") from None
    if info["missing_keys"]:
        raise InputError(
            f"{what} is no {task}: it has no weights for {', '.join(sorted(info['missing_keys'])[:3])}. "
            f"Say which it is, {' or '.join(f'`task: {known}`' for known in TASKS)}."
        )
    return LanguageModel(module, tokenizer, "mask" if task == "masked-lm" else "last")
