"""Classifiers without training: an encoder of texts that compares each text with descriptions of the classes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from axioms.core.errors import InputError
from axioms.core.registry import subject
from axioms.subjects.models.language import LanguageModel


@subject("zero-shot-classifier")
def zero_shot_classifier(
    *, asset: str, labels: dict[str, str], backend: Literal["eager", "sdpa"] = "eager"
) -> LanguageModel:
    """A pretrained encoder (a folder with config, safetensors and tokenizer) with a description of each class."""
    import torch
    from safetensors.torch import load_file
    from torch.nn import functional as F
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    from axioms.subjects.models.modules.similarity import Similarity, mean_token

    if len(labels) < 2:
        raise InputError("a classifier needs at least two labels, each with a description.")
    folder = Path(asset)
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    config.id2label, config.label2id = dict(enumerate(labels)), {label: at for at, label in enumerate(labels)}
    # Without its pooler, in whose place the mean of the tokens stands; the file may have one, and buffers.
    encoder = AutoModel.from_config(config, attn_implementation=backend, add_pooling_layer=False).eval()
    missing = encoder.load_state_dict(load_file(folder / "model.safetensors"), strict=False).missing_keys
    if missing:
        raise InputError(f"{folder.name} has no weights for {', '.join(missing[:3])}.")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    given = tokenizer(list(labels.values()), padding=True, return_tensors="pt")
    with torch.no_grad():
        described = F.normalize(mean_token(encoder, **given), dim=1)
    # What all descriptions share says nothing about which class it is.
    return LanguageModel(Similarity(encoder, described - described.mean(dim=0)), tokenizer)
