"""Language models: a module with the tokenizer that turns texts into its inputs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from axioms.core.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.model.inputs import Inputs

NO_LIMIT = 10**6
"""Tokenizers that know no limit of their own say some huge number."""


@dataclass(frozen=True)
class LanguageModel:
    """A module with its tokenizer: what a builder returns where the subject reads texts."""

    module: torch.nn.Module
    tokenizer: Any = None
    """A tokenizer of transformers; None where the module takes no texts."""
    reads: Literal["last", "mask"] = "last"
    """Where a model that gives outputs for each token is read: at the last token, or at the one mask token."""

    def read_at(self, inputs: Inputs) -> Inputs:
        """Return the inputs with the place at which the output is read, where that is not the last token."""
        if self.reads == "last":
            return inputs
        return replace(inputs, position=(inputs.fixed["input_ids"] == self.tokenizer.mask_token_id).int().argmax(dim=1))


def beginning(model: LanguageModel, bos: bool) -> LanguageModel:
    """Return the model with a tokenizer that puts its BOS token before each text, or adds no special token."""
    from tokenizers.processors import TemplateProcessing

    name, number = model.tokenizer.bos_token, model.tokenizer.bos_token_id
    if name is None or number is None:
        raise InputError("this model's tokenizer has no BOS token, so `bos` cannot be set; leave it out.")
    tokenizer = copy.deepcopy(model.tokenizer)
    single = f"{name} $A" if bos else "$A"
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single=single, special_tokens=[(name, number)])
    return replace(model, tokenizer=tokenizer)


@dataclass(frozen=True)
class Tokens:
    """Texts as inputs of the forward pass, and the tokens in words for reports."""

    inputs: dict[str, Tensor]
    """`input_ids`, `attention_mask` and what else the model takes; and for the removal of tokens
    `special_tokens_mask` (1 where a token is special or padding) and `mask_token_id`, where there is such a token."""
    strings: tuple[tuple[str, ...], ...]
    """The tokens of each text, without padding."""
    cut: int
    """The number of texts that were longer than the limit."""


def tokenize(
    model: LanguageModel, texts: Sequence[str], max_length: int | None = None, *, width: int = 0, first: int = 0
) -> Tokens:
    """Return texts for this model, padded on the right, cut at `max_length` tokens or at the model's own limit.

    They are padded to the longest of them, and at least to `width`; `first` is the number of the first, for messages.
    """
    import torch

    if model.tokenizer is None:
        raise InputError("this model has no tokenizer, so it cannot take texts; give it data of token ids or features.")
    limit = token_limit(model)
    if max_length is not None and limit is not None and max_length > limit:
        raise InputError(f"max_length is {max_length}, and this model takes at most {limit} tokens.")
    limit = max_length or limit
    tokenizer = model.tokenizer
    rows = [tokenizer(text, return_special_tokens_mask=True, verbose=False) for text in texts]
    long = [index for index, row in enumerate(rows) if limit is not None and len(row["input_ids"]) > limit]
    for index in long:
        rows[index] = tokenizer(texts[index], return_special_tokens_mask=True, truncation=True, max_length=limit)
    length = max(width, *(len(row["input_ids"]) for row in rows))
    fill = {"input_ids": tokenizer.pad_token_id or 0, "special_tokens_mask": 1}
    inputs = {
        name: torch.tensor([row[name] + [fill.get(name, 0)] * (length - len(row[name])) for row in rows])
        for name in rows[0]
        if name in ("special_tokens_mask", *_accepted(model.module, rows[0]))
    }
    ids, special = inputs["input_ids"], inputs["special_tokens_mask"]
    if tokenizer.mask_token_id is not None:
        inputs["mask_token_id"] = torch.tensor(tokenizer.mask_token_id)
    if model.reads == "mask":
        # It is what is asked about, not a word to remove.
        special.masked_fill_(_mask_places(model, ids, texts, first), 1)
    for index, text in enumerate(texts):
        if bool(special[index].all()) and model.reads == "last":
            raise InputError(f"text {first + index} has no token of its own for this model: {text!r}.")
    strings = tuple(tuple(tokenizer.convert_ids_to_tokens(row["input_ids"])) for row in rows)
    return Tokens(inputs, strings, len(long))


def token_limit(model: LanguageModel) -> int | None:
    """Return the most tokens that the model takes, special ones included; None where nothing says."""
    from torch import nn

    positions = getattr(getattr(model.module, "config", None), "max_position_embeddings", None)
    limits = [] if positions is None else [int(positions)]
    for name, part in model.module.named_modules():
        # RoBERTa and its kin number positions from behind the padding's own.
        if name.endswith("position_embeddings") and isinstance(part, nn.Embedding) and part.padding_idx is not None:
            limits.append(part.num_embeddings - part.padding_idx - 1)
    if model.tokenizer.model_max_length < NO_LIMIT:
        limits.append(int(model.tokenizer.model_max_length))
    return min(limits, default=None)


def _accepted(module: torch.nn.Module, names: Sequence[str]) -> list[str]:
    """Return those of the tokenizer's outputs that the forward pass takes."""
    return [name for name in names if name in inspect.signature(module.forward).parameters]


def _mask_places(model: LanguageModel, ids: Tensor, texts: Sequence[str], first: int) -> Tensor:
    if model.tokenizer.mask_token_id is None:
        raise InputError("this model is read at its mask token, and its tokenizer has none.")
    places = ids == model.tokenizer.mask_token_id
    for index, count in enumerate(places.sum(dim=1).tolist()):
        if count != 1:
            raise InputError(
                f"text {first + index} must have one {model.tokenizer.mask_token} where the model is asked for a word; "
                f"it has {count}: {texts[index]!r}."
            )
    return places
