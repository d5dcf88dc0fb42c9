"""What a model is given: the features that are attributed, and everything else its forward pass takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    position: Tensor | None = None
    """Where the output of a language model is read, per example; the last token by default."""
    first: int = 0
    """Position of the first example in the data it was cut from, so that a seed can belong to an example."""

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def with_features(self, features: Tensor) -> Inputs:
        """The same inputs with other features."""
        return replace(self, features=features)

    def rows(self, start: int, stop: int) -> Inputs:
        """Some of the examples."""
        return replace(self._map(lambda value: value[start:stop]), first=self.first + start)

    def select(self, index: Tensor) -> Inputs:
        """The examples at `index`, each as often as it occurs there."""
        return self._map(lambda value: value[index])

    def without(self, removed: Tensor) -> Inputs:
        """The inputs with the features where `removed` (batch x features, bool) is true taken out."""
        if self.removal == "attention_mask":
            mask = self.fixed["attention_mask"]
            return replace(self, fixed={**self.fixed, "attention_mask": mask.masked_fill(removed, 0)})
        width = (1,) * (self.features.dim() - removed.dim())
        return self.with_features(self.features.masked_fill(removed.reshape(*removed.shape, *width), 0))

    def _map(self, choose: Callable[[Tensor], Tensor]) -> Inputs:
        fixed = {name: choose(value) if self._per_example(value) else value for name, value in self.fixed.items()}
        position = None if self.position is None else choose(self.position)
        return replace(self, features=choose(self.features), fixed=fixed, position=position)

    def _per_example(self, value: Any) -> bool:
        return hasattr(value, "shape") and len(value.shape) > 0 and value.shape[0] == len(self)


def input_embedding(module: torch.nn.Module) -> torch.nn.Module:
    """The module that embeds `input_ids`: what get_input_embeddings() says, or a twin of it that is really called."""
    from torch import nn

    named = getattr(module, "get_input_embeddings", lambda: None)()
    if named is None:
        raise InputError("the model has no get_input_embeddings(); pass the features as a tensor instead.")
    shape = getattr(getattr(named, "weight", None), "shape", None)
    # T5 names an embedding that its encoder shares weights with but does not call. The one called is the inner twin.
    twins = [each for each in module.modules() if isinstance(each, nn.Embedding) and each.weight.shape == shape]
    return twins[-1] if named in twins and len(twins) > 1 else named


def embed(module: torch.nn.Module, given: Mapping[str, Any]) -> Tensor:
    """The embeddings of `input_ids` as the model sees them."""
    import torch

    with torch.no_grad():
        features: Tensor = input_embedding(module)(given["input_ids"])
    return features


def read_inputs(module: torch.nn.Module, given: Tensor | Mapping[str, Any], remove: str | None = None) -> Inputs:
    """A tensor of features, or a mapping for the model's forward pass, as `Inputs`.

    In a mapping the features are the embeddings of `input_ids`, else its one floating-point tensor.
    """
    import torch

    if not isinstance(given, torch.Tensor):  # what the tokenizer says for the removal of tokens, not for the model
        given = {key: value for key, value in given.items() if key not in ("special_tokens_mask", "mask_token_id")}
    if isinstance(given, torch.Tensor):
        inputs = Inputs(given)
    elif "input_ids" in given:
        inputs = Inputs(embed(module, given), dict(given), EMBEDDINGS)
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
    mask = inputs.fixed.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return replace(inputs, removal=removal)
    # The last token that is attended to now: removing that very token must not move the place that is read.
    last = (torch.arange(mask.shape[1], device=mask.device) * (mask != 0)).argmax(dim=1)
    return replace(inputs, removal=removal, position=last)
