"""Vision models of torchvision, which is imported only here and only when it is used."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError, MissingPackage, did_you_mean
from axioms.core.registry import subject
from axioms.core.seeds import Seed
from axioms.subjects.paths import OptionalPath

if TYPE_CHECKING:
    from torch import nn


MOST_SHOWN = 100
"""Characters of a list of tensors that do not fit."""


@subject("torchvision")
def torchvision_model(
    *, name: str, options: dict[str, Any] | None = None, weights: OptionalPath = None, seed: Seed = 0
) -> nn.Module:
    """A classifier of torchvision.models by its function (`vit_b_16`, `resnet18`) or class (`VisionTransformer`).

    `options` go to it: `{num_classes: 10}`, and of a class all sizes. `weights` is a safetensors file with its state;
    without one every parameter is random, since torchvision begins a ViT with a head of zeros. It takes images, or
    their pixels in a row: red, green, blue, or gray for all three.
    """
    from axioms.subjects.models.modules.images import ImageClassifier

    model = _build(name, options or {})
    if weights is None:
        _randomize(model, seed)
    else:
        _load(model, name, weights)
    return ImageClassifier(model).eval()


def import_torchvision() -> Any:
    """Return torchvision, or raise `MissingPackage` with what to install where it is absent or does not fit torch."""
    import torch

    try:
        import torchvision
        import torchvision.transforms.v2
    except ImportError:
        raise MissingPackage("torchvision is not installed: pip install torchvision") from None
    except RuntimeError as error:  # "operator torchvision::nms does not exist": its binaries are for another torch
        raise MissingPackage(
            f"torchvision is installed and does not work with torch {torch.__version__} ({error}). Both must be of one "
            "build: uninstall both, then pip install torch torchvision from the same index."
        ) from None
    return torchvision


def _build(name: str, options: dict[str, Any]) -> nn.Module:
    from torch import nn

    models = import_torchvision().models
    known = [*models.list_models(module=models), *(key for key, value in vars(models).items() if _is_class(value))]
    if name not in known:
        raise InputError(f"torchvision has no classifier {name!r}.{did_you_mean(name, known)}")
    try:
        model = getattr(models, name)(**options)
    except (TypeError, ValueError, AssertionError) as error:
        raise InputError(f"torchvision's {name} cannot be built with the options {options}: {error}") from None
    assert isinstance(model, nn.Module)
    return model


def _is_class(value: object) -> bool:
    from torch import nn

    return isinstance(value, type) and issubclass(value, nn.Module)


def _randomize(model: nn.Module, seed: int) -> None:
    from axioms.subjects.models.modules.random import randomize

    norms = [path for path, module in model.named_modules() if "Norm" in type(module).__name__]
    randomize(model, seed, {f"{path}.weight" for path in norms})


def _load(model: nn.Module, name: str, weights: str) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(weights))
    except (OSError, SafetensorError) as error:
        raise InputError(f"{weights} cannot be read as a safetensors file: {error}") from None
    except RuntimeError as error:  # torch lists every tensor that does not fit
        first = textwrap.shorten(str(error).partition("\n")[2], MOST_SHOWN, placeholder=" ...")
        raise InputError(f"{weights} does not hold the state of torchvision's {name}: {first}") from None
