"""Keys and values of a text, remembered: in a causal model a removal changes nothing before its first token.

The forward pass over the text as it is leaves the keys and values of every layer behind. A text in which the first
removed token is number i then needs a pass over the tokens from i on alone. That is exact where a token is removed by
the attention mask or by something in its place, and where every layer attends to keys and values before it and to
nothing else. Whether a model is of that kind is not read off its class but tried, on one removal of every call. Where
it is not, every removal is a whole pass, and a note says why (model/notes.py; `Attribution.notes`).
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.module import Model
from axioms.model.notes import note
from axioms.model.removals import last_resort

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE = "past_key_values"
RECURRENT = ("cache_params", "state", "rnn_state")
"""What the forward pass of a model with a recurrent state takes instead."""
EXACT = (torch.float32, torch.float64)
ROUNDING = 200
"""How many units in the last place of the largest output two ways to compute the outputs may differ by."""


class Prefix:
    """The keys and values of a batch of texts, layer by layer."""

    def __init__(self, layers: Mapping[int, tuple[Tensor, Tensor]]) -> None:
        self.layers = layers

    def cache(self, example: Tensor, length: int) -> Any:
        """Return a cache that holds the first `length` tokens of the texts `example`."""
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer in sorted(self.layers):
            keys, values = (part[:, :, :length][example] for part in self.layers[layer])
            cache.update(keys, values, layer)
        return cache

    def outputs(self, model: Model, inputs: Inputs, example: Tensor, length: int) -> Tensor:
        """Return the outputs for `inputs`, whose first `length` tokens are those of the texts `example` as they are."""
        if length == 0:
            return model(inputs)
        try:
            return model(_after(inputs, length, {CACHE: self.cache(example, length), "use_cache": True}))
        except Exception as error:  # whatever a cache of another kind makes of it
            raise ReuseFailed(_first_line(error)) from error


class ReuseFailed(Exception):
    """Outputs by the keys and values of a prefix could not be had, or are not those of a whole pass."""


def check_reuse(reused: Tensor, whole: Tensor, size: float) -> None:
    """Raise `ReuseFailed` where two ways to compute a target differ by more than outputs of that size are rounded."""
    if not is_rounding(reused, whole, size):
        gap = float((reused - whole).abs().max())
        raise ReuseFailed(
            f"with the keys and values of the tokens before it the outputs differ by {gap / size:.0e} of the largest, "
            "so that this model's attention is not causal"
        )


def is_rounding(one: Tensor, other: Tensor, size: float) -> bool:
    """Tell whether two ways to compute a target differ by no more than outputs of that size are rounded."""
    return float((one - other).abs().max()) <= ROUNDING * torch.finfo(other.dtype).eps * size


def run_remembering(model: Model, inputs: Inputs) -> tuple[Tensor, Prefix | None]:
    """Return the outputs for the inputs, and their keys and values where the model and the removal have use for them.

    Where a causal model has no such cache, a note says so.
    """
    if not can_remember(model.module, inputs):
        return model(inputs), None
    cache = _recording_cache()
    try:
        outputs = model(replace(inputs, fixed={**inputs.fixed, CACHE: cache, "use_cache": True}))
    except Exception as error:  # a cache of another kind: the model takes none of ours
        note_whole_passes(_first_line(error))
        return model(inputs), None
    shape = inputs.features.shape[:2]
    seen: dict[int, tuple[Tensor, Tensor]] = cache.seen
    if not seen or any(part.dim() != 4 or part.shape[::2] != shape for layer in seen.values() for part in layer):
        return outputs, None
    return outputs, Prefix(seen)


def note_whole_passes(reason: str) -> None:
    """Note that every removal is computed from the first token on, and why."""
    note(f"no reuse of prefixes, every removal is a whole pass: {reason}")


def unchanged_tokens(inputs: Inputs, example: Tensor, removed: Tensor) -> Tensor:
    """Return how many tokens at the beginning of every row need not be computed again.

    Those are the tokens before the first removed one and, where it is masked, that one too: nobody looks at it. The
    place that is read is always computed.
    """
    length = removed.shape[1]
    place = torch.arange(length, device=removed.device)
    first = torch.where(removed.any(dim=1), removed.int().argmax(dim=1), length)
    if inputs.removal.kind == "attention_mask":
        stays = ~removed | last_resort(inputs.select(example), removed)
        stays &= place >= first.unsqueeze(1)
        first = torch.where(stays.any(dim=1), stays.int().argmax(dim=1), length)
    return first.clamp(max=length - 1) if inputs.position is None else first.minimum(inputs.position[example])


def can_remember(module: nn.Module, inputs: Inputs) -> bool:
    """Tell whether keys and values of these inputs may be of use: by the removal, and by what the module takes."""
    parameters = inspect.signature(module.forward).parameters
    decodes = getattr(getattr(module, "config", None), "is_encoder_decoder", False)
    if inputs.slot != EMBEDDINGS or inputs.removal.kind == "delete" or decodes or CACHE in inputs.fixed:
        return False
    if inputs.features.dtype not in EXACT or inputs.features.is_meta:
        return False
    if any(name in parameters for name in RECURRENT):
        note_whole_passes(f"{type(module).__name__} keeps a recurrent state")
    return CACHE in parameters


def _recording_cache() -> Any:
    from transformers import DynamicCache

    class Recording(DynamicCache):
        """A cache that shows what it holds, in every version of transformers."""

        def __init__(self) -> None:
            super().__init__()
            self.seen: dict[int, tuple[Tensor, Tensor]] = {}

        def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any) -> Any:
            """Put keys and values after those that are there."""
            self.seen[layer_idx] = super().update(key_states, value_states, layer_idx, *args, **kwargs)
            return self.seen[layer_idx]

    return Recording()


def _after(inputs: Inputs, length: int, more: Mapping[str, Any]) -> Inputs:
    """Return the inputs from token `length` on. The mask stays whole: it says which of the earlier keys are seen."""
    shape = inputs.features.shape[:2]

    def cut(name: str, value: Any) -> Any:
        per_token = isinstance(value, Tensor) and value.shape == shape and name != "attention_mask"
        return value[:, length:] if per_token else value

    fixed = {name: cut(name, value) for name, value in inputs.fixed.items()} | dict(more)
    position = None if inputs.position is None else inputs.position - length
    # Nothing is removed from these any more: what a removal needs is left behind.
    return replace(
        inputs, features=inputs.features[:, length:], fixed=fixed, position=position, candidates=None, drawn=None
    )


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
