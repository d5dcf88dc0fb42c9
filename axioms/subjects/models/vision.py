"""A Vision Transformer of transformers, by its sizes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal

from axioms.core.errors import MissingPackage
from axioms.core.registry import subject

if TYPE_CHECKING:
    from torch import nn


@subject("vit")
def vit(
    *,
    image: int,
    patch: int,
    width: int,
    layers: int,
    heads: int,
    mlp: int,
    classes: int,
    backend: Literal["eager", "sdpa"] = "eager",
) -> nn.Module:
    """A ViTForImageClassification of gray images, which takes them as patches (the data `image-patches`).

    `image` and `patch` are sides in pixels, `width` and `mlp` the sizes of hidden states and of the MLPs.
    """
    from transformers import ViTConfig, ViTForImageClassification

    from axioms.subjects.models.modules.images import PatchClassifier

    if "attention_mask" not in inspect.signature(ViTForImageClassification.forward).parameters:
        # An older one takes it among its keywords and does nothing with it: no patch would ever be removed.
        raise MissingPackage("this ViT takes no attention mask: pip install --upgrade transformers")
    sizes: dict[str, Any] = {
        "image_size": image,
        "patch_size": patch,
        "num_channels": 1,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": mlp,
        "num_labels": classes,
    }
    config = ViTConfig(**sizes)
    config._attn_implementation = backend
    return PatchClassifier(ViTForImageClassification(config), patch).eval()
