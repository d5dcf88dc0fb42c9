"""A classifier as a small difference to pretrained weights: W + scale * B A (Hu et al. 2022), merged when it is loaded.

The difference is one safetensors file. `NAME.lora_a` (rank x in) and `NAME.lora_b` (out x rank) change the weight
`NAME.weight`, `scale` is in the file's metadata, and every other tensor stands in for the one of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from axioms.core.errors import InputError
from axioms.core.registry import subject
from axioms.subjects.models.language import LanguageModel

if TYPE_CHECKING:
    from torch import Tensor

DOWN, UP = ".lora_a", ".lora_b"
LABELS = ("negative", "positive")
CLASS_BIASES = ("classifier.bias", "classifier.out_proj.bias")
"""Where a classifier has one number for each class: BERT and its like, RoBERTa and its like."""


def merge(base: Mapping[str, Tensor], difference: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """Return the base's state with the difference in it, in float32; the base is left as it is."""
    merged = {name: tensor.float() for name, tensor in base.items()}
    for name, tensor in difference.items():
        if name.endswith(DOWN):
            layer = name.removesuffix(DOWN)
            merged[f"{layer}.weight"] = _changed(layer, merged, tensor, difference.get(layer + UP), scale)
        elif not name.endswith(UP):
            merged[name] = tensor.float()
        elif name.removesuffix(UP) + DOWN not in difference:
            raise InputError(f"the difference has {name} without {name.removesuffix(UP) + DOWN}.")
    return merged


def _changed(layer: str, base: Mapping[str, Tensor], down: Tensor, up: Tensor | None, scale: float) -> Tensor:
    weight = base.get(f"{layer}.weight")
    if up is None or weight is None:
        missing = layer + UP if up is None else f"{layer}.weight in the base weights"
        raise InputError(f"the difference has {layer + DOWN}, but there is no {missing}.")
    if (up.shape[0], down.shape[1]) != tuple(weight.shape) or up.shape[1] != down.shape[0]:
        raise InputError(
            f"{layer}: factors {tuple(up.shape)} x {tuple(down.shape)} do not fit the weight {tuple(weight.shape)}."
        )
    return weight + scale * (up.float() @ down.float())


@subject("lora-classifier")
def lora_classifier(*, asset: str, files: dict[str, str], backend: Literal["eager", "sdpa"] = "eager") -> LanguageModel:
    """A pretrained encoder (a folder with config, safetensors and tokenizer) with a LoRA difference merged in."""
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    folder = Path(asset)
    difference, scale = read_difference(Path(files["difference"]))
    biases = [difference[name] for name in CLASS_BIASES if name in difference]
    if not biases:
        raise InputError(f"{files['difference']} has no {' or '.join(CLASS_BIASES)}, so it is not a classifier.")
    config = AutoConfig.from_pretrained(folder, local_files_only=True, num_labels=len(biases[0]))
    if config.num_labels == len(LABELS):
        config.id2label, config.label2id = dict(enumerate(LABELS)), {label: at for at, label in enumerate(LABELS)}
    model = AutoModelForSequenceClassification.from_config(config, attn_implementation=backend)
    prefix = f"{model.base_model_prefix}."
    base = {
        prefix + name.removeprefix(prefix): tensor for name, tensor in load_file(folder / "model.safetensors").items()
    }
    # Not strict, because files of older models hold buffers too; but every parameter must come from one of the files.
    missing = model.load_state_dict(merge(base, difference, scale), strict=False).missing_keys
    if missing:
        raise InputError(f"neither the base weights nor the difference have {', '.join(missing)}.")
    return LanguageModel(model.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True))


def read_difference(file: Path) -> tuple[dict[str, Tensor], float]:
    """Return the tensors and the scale of a difference."""
    from safetensors import safe_open

    with safe_open(file, "pt") as opened:
        metadata = opened.metadata() or {}
        if "scale" not in metadata:
            raise InputError(f"{file.name} has no `scale` in its metadata, so it is not a difference to be merged.")
        return {name: opened.get_tensor(name) for name in opened.keys()}, float(metadata["scale"])  # noqa: SIM118
