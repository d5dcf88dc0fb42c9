"""What a model is given: the features that are attributed, and everything else its forward pass takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from axioms.core.errors import InputError
from axioms.model.removals import Removal, prepared, without

if TYPE_CHECKING:
    import torch
    from torch import Tensor

EMBEDDINGS = "embeddings"
"""Slot of features that stand in for the output of the model's input embedding."""

ZERO = Removal(kind="zero")


@dataclass(frozen=True)
class Inputs:
    """A batch of inputs. `features` is batch x features, or batch x features x width for embeddings."""

    features: Tensor
    fixed: Mapping[str, Any] = field(default_factory=dict)
    slot: str | None = None
    """How the features reach the model: None, its first argument; `embeddings`; else the keyword of that name."""
    removal: Removal = ZERO
    """What removing a feature means."""
    unremovable: str = ""
    """Why nothing can be removed, where that is so; said only when something is to be."""
    candidates: Tensor | None = None
    """batch x features, bool: the features that are removed, ranked and correlated. None where all are.

    Padding never is one; special tokens are, unless the removal keeps them."""
    substitutes: Tensor | None = None
    """number x width: embeddings that take the place of removed ones, where something does"""
    drawn: Tensor | None = None
    """batch x draws x features: which of them, where there are several; the first otherwise"""
    pad: int = 0
    """The token that fills up a text that has become shorter."""
    position: Tensor | None = None
    """Where the output of a language model is read, per example; the last token by default."""
    first: int = 0
    """Position of the first example in the data it was cut from, so that a seed can belong to an example."""

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def with_features(self, features: Tensor) -> Inputs:
        """Return the same inputs with other features."""
        return replace(self, features=features)

    def rows(self, start: int, stop: int) -> Inputs:
        """Return some of the examples."""
        return replace(self._map(lambda value: value[start:stop]), first=self.first + start)

    def select(self, index: Tensor) -> Inputs:
        """Return the examples at `index`, every one as often as it occurs there."""
        return self._map(lambda value: value[index])

    @property
    def attended(self) -> Tensor | None:
        """Which tokens are no padding (batch x features, bool); None without a mask of batch x tokens."""
        mask = self.fixed.get("attention_mask")
        return mask != 0 if mask is not None and mask.shape == self.features.shape[:2] else None

    @property
    def lengths(self) -> Tensor | None:
        """How many tokens a text has up to the last that is attended to; None without a mask of batch x tokens."""
        import torch

        if (there := self.attended) is None:
            return None
        return (torch.arange(there.shape[1], device=there.device) * there).argmax(dim=1) + 1

    def without(self, removed: Tensor, draw: int = 0) -> Inputs:
        """Return the inputs without the features where `removed` (batch x features, bool) is true."""
        return without(self, removed, draw)

    def units(self, chunk: int | None = None) -> Tensor | None:
        """Return the number of the unit that every feature belongs to (batch x features), -1 where it is no candidate.

        A unit is `chunk` consecutive candidates, as the removal says unless it is given here; the last may have fewer.
        None where every feature is a unit by itself.
        """
        import torch

        size = self.removal.chunk if chunk is None else chunk
        if self.candidates is None:
            if size == 1:
                return None
            place = torch.arange(self.features.shape[1], device=self.features.device)
            return (place // size).expand(self.features.shape[:2])
        number = (self.candidates.cumsum(dim=1) - 1) // size
        return number.masked_fill(~self.candidates, -1)

    def up_to(self, length: int) -> Inputs:
        """Return the first `length` features, with everything else that is there once for every feature."""
        shape = self.features.shape[:2]
        fixed = {
            name: value[:, :length] if hasattr(value, "shape") and value.shape == shape else value
            for name, value in self.fixed.items()
        }
        return replace(
            self,
            features=self.features[:, :length],
            fixed=fixed,
            candidates=None if self.candidates is None else self.candidates[:, :length],
            drawn=None if self.drawn is None else self.drawn[:, :, :length],
        )

    def _map(self, choose: Callable[[Tensor], Tensor]) -> Inputs:
        fixed = {name: choose(value) if self._per_example(value) else value for name, value in self.fixed.items()}
        position, candidates, drawn = (
            None if value is None else choose(value) for value in (self.position, self.candidates, self.drawn)
        )
        features = choose(self.features)
        return replace(self, features=features, fixed=fixed, position=position, candidates=candidates, drawn=drawn)

    def _per_example(self, value: Any) -> bool:
        return hasattr(value, "shape") and len(value.shape) > 0 and value.shape[0] == len(self)


def input_embedding(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module that embeds `input_ids`: what get_input_embeddings() says, or its twin that is called."""
    from axioms.model.parts import parts_of

    named = getattr(module, "get_input_embeddings", lambda: None)()
    if named is None:
        raise InputError("the model has no get_input_embeddings(); pass the features as a tensor instead.")
    shape = getattr(getattr(named, "weight", None), "shape", None)
    # T5 names an embedding that its encoder shares weights with but does not call. The one called is the inner twin.
    twins = [part for part in parts_of(module).embeddings if part.weight.shape == shape]
    return twins[-1] if named in twins and len(twins) > 1 else named


def embed(module: torch.nn.Module, given: Mapping[str, Any]) -> Tensor:
    """Return the embeddings of `input_ids` as the model sees them."""
    import torch

    with torch.no_grad():
        features: Tensor = input_embedding(module)(given["input_ids"])
    return features


def read_inputs(
    module: torch.nn.Module,
    given: Tensor | Mapping[str, Any],
    remove: Removal | str | Mapping[str, Any] | None = None,
    seed: int = 0,
    *,
    first: int = 0,
    pool: Tensor | None = None,
) -> Inputs:
    """Return a tensor of features, or a mapping for the model's forward pass, as `Inputs`.

    In a mapping the features are the embeddings of `input_ids`, else its one floating-point tensor. Two entries are for
    us and not for the model: `special_tokens_mask` (batch x tokens, 1 where a token is special or padding) and
    `mask_token_id`. `seed` is for a removal that draws; where the examples are a part of some data, `first` is the
    number of the first in it, and `pool` the words of all the data (see `words_of`).
    """
    import torch

    from axioms.model.forms import check_features, usable

    special, mask_token_id = None, None
    if isinstance(given, torch.Tensor):
        inputs = Inputs(usable(given))
    else:
        given = {name: usable(value) for name, value in given.items()}
        special, mask_token_id = given.pop("special_tokens_mask", None), given.pop("mask_token_id", None)
        inputs = _read_mapping(module, given)
    check_features(inputs.features, inputs.attended)
    removal = remove if isinstance(remove, Removal) else _removal(remove)
    there = inputs.attended
    words = _words(inputs, there, special)
    if removal.special_tokens == "keep" and inputs.slot == EMBEDDINGS and special is None:
        raise InputError(
            "`special_tokens: keep` needs data that says which tokens are special, by a `special_tokens_mask` beside "
            "its `input_ids`; use `special_tokens: include` here."
        )
    inputs = replace(inputs, candidates=words if removal.special_tokens == "keep" else there)
    if (lengths := inputs.lengths) is not None:
        # The last token that is attended to now: removing that very token must not move the place that is read.
        inputs = replace(inputs, position=lengths - 1)
    number = None if mask_token_id is None else int(mask_token_id)
    if pool is None and removal.kind == "resample" and "input_ids" in inputs.fixed:
        pool = words_of(inputs.fixed, words)
    return prepared(module, replace(inputs, first=first), removal, mask_token_id=number, seed=seed, pool=pool)


def words_of(given: Mapping[str, Any], words: Tensor | None = None) -> Tensor:
    """Return the token ids in a mapping that `resample` may draw, as often as they occur.

    `words` (batch x tokens, bool) says which; by default what its masks say: neither padding nor special.
    """
    ids: Tensor = given["input_ids"]
    if words is None:
        mask, special = given.get("attention_mask"), given.get("special_tokens_mask")
        words = ids == ids
        words = words if mask is None or mask.shape != ids.shape else words & (mask != 0)
        words = words if special is None else words & (special == 0)
    return ids[words]


def _read_mapping(module: torch.nn.Module, given: Mapping[str, Any]) -> Inputs:
    import torch

    if "input_ids" in given:
        return Inputs(embed(module, given), given, EMBEDDINGS)
    names = [name for name, value in given.items() if torch.is_tensor(value) and value.is_floating_point()]
    if len(names) != 1:
        raise InputError(
            "a mapping needs `input_ids` or exactly one floating-point tensor to attribute to; "
            f"there are {', '.join(names) or 'none'} among {', '.join(given)}."
        )
    fixed = {name: value for name, value in given.items() if name != names[0]}
    return Inputs(given[names[0]], fixed, names[0])


def _removal(remove: str | Mapping[str, Any] | None) -> Removal:
    try:
        return Removal.model_validate({} if remove is None else remove)
    except ValidationError as error:
        reasons = [f"{fault['loc'][-1] if fault['loc'] else 'remove'}: {fault['msg']}" for fault in error.errors()]
        raise InputError(f"`remove` is not a removal: {'; '.join(reasons)}.") from None


def _words(inputs: Inputs, there: Tensor | None, special: Tensor | None) -> Tensor | None:
    """Return where tokens are neither padding nor special (batch x tokens); None where the data does not say."""
    if special is None:
        return there
    if special.shape != inputs.features.shape[:2]:
        raise InputError(
            f"special_tokens_mask has shape {tuple(special.shape)}; {tuple(inputs.features.shape[:2])} is needed."
        )
    return special == 0 if there is None else (special == 0) & there
