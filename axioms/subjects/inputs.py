"""What a model is given: the features that are attributed, and everything else its forward pass takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from axioms.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

EMBEDDINGS = "embeddings"
"""Slot of features that stand in for the output of the model's input embedding."""


@dataclass(frozen=True)
class Inputs:
    """A batch of inputs. `features` is batch x features, or batch x features x width for embeddings."""

    features: Tensor
    fixed: Mapping[str, Any] = field(default_factory=dict)
    slot: str | None = None
    """How the features reach the model: None, its first argument; `embeddings`; else the keyword of that name."""
    removal: str = "zero"
    """What removing a feature means: `zero`, or `attention_mask`."""
    first: int = 0
    """Position of the first example in the data it was cut from, so that a seed can belong to an example."""

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def with_features(self, features: Tensor) -> Inputs:
        """The same inputs with other features."""
        return replace(self, features=features)

    def rows(self, start: int, stop: int) -> Inputs:
        """Some of the examples."""
        fixed = {name: value[start:stop] if self._per_example(value) else value for name, value in self.fixed.items()}
        return replace(self, features=self.features[start:stop], fixed=fixed, first=self.first + start)

    def select(self, index: Tensor) -> Inputs:
        """The examples at `index`, each as often as it occurs there."""
        fixed = {name: value[index] if self._per_example(value) else value for name, value in self.fixed.items()}
        return replace(self, features=self.features[index], fixed=fixed)

    def without(self, removed: Tensor) -> Inputs:
        """The inputs with the features where `removed` (batch x features, bool) is true taken out."""
        if self.removal == "attention_mask":
            mask = self.fixed["attention_mask"]
            return replace(self, fixed={**self.fixed, "attention_mask": mask.masked_fill(removed, 0)})
        width = (1,) * (self.features.dim() - removed.dim())
        return self.with_features(self.features.masked_fill(removed.reshape(*removed.shape, *width), 0))

    def _per_example(self, value: Any) -> bool:
        return hasattr(value, "shape") and len(value.shape) > 0 and value.shape[0] == len(self)


def read_inputs(module: torch.nn.Module, given: Tensor | Mapping[str, Any], remove: str | None = None) -> Inputs:
    """A tensor of features, or a mapping for the model's forward pass, as `Inputs`.

    In a mapping the features are the embeddings of `input_ids`, else its one floating-point tensor.
    """
    import torch

    if isinstance(given, torch.Tensor):
        inputs = Inputs(given)
    elif "input_ids" in given:
        embedding = getattr(module, "get_input_embeddings", lambda: None)()
        if embedding is None:
            raise InputError("the model has no get_input_embeddings(); pass the features as a tensor instead.")
        with torch.no_grad():
            features = embedding(given["input_ids"])
        inputs = Inputs(features, dict(given), EMBEDDINGS)
    else:
        names = [name for name, value in given.items() if torch.is_tensor(value) and value.is_floating_point()]
        if len(names) != 1:
            raise InputError(
                "a mapping needs `input_ids` or exactly one floating-point tensor to attribute to; "
                f"found {', '.join(names) or 'none'} among {', '.join(given)}."
            )
        fixed = {name: value for name, value in given.items() if name != names[0]}
        inputs = Inputs(given[names[0]], fixed, names[0])
    if inputs.features.dim() < 2 or len(inputs) == 0:
        raise InputError(
            f"inputs must be batch x features with at least one example; got {tuple(inputs.features.shape)}."
        )
    if not inputs.features.is_floating_point():
        raise InputError(f"features must be floating-point numbers, not {inputs.features.dtype}.")
    if not inputs.features.is_meta and not bool(torch.isfinite(inputs.features).all()):
        raise InputError("the features contain NaN or infinity.")
    removal = remove or ("attention_mask" if "attention_mask" in inputs.fixed else "zero")
    if removal == "attention_mask" and "attention_mask" not in inputs.fixed:
        raise InputError("removal by attention mask needs an `attention_mask` among the inputs.")
    return replace(inputs, removal=removal)
