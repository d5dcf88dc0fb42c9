"""What takes the place of a removed token, where something does: inputs to inputs with their `substitutes`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from axioms.core.errors import InputError
from axioms.core.seeds import combine_seeds
from axioms.model.inputs import Inputs, embed, input_embedding

BLOCK = 8192
"""Rows of the embedding that are averaged at once."""


def _mask_token(
    module: torch.nn.Module, inputs: Inputs, *, mask_token_id: int | None, seed: int, pool: Tensor | None
) -> Inputs:
    number = inputs.removal.mask_token_id
    number = mask_token_id if number is None else number
    if number is None:
        raise InputError(
            "removal by mask_token needs a tokenizer with a mask token, and this one has none; "
            "give its number (`remove: {kind: mask_token, mask_token_id: 103}`) or use another removal."
        )
    ids = inputs.fixed["input_ids"].new_full((1,), number)
    return replace(inputs, substitutes=embed(module, {"input_ids": ids}))


def _zero_embedding(module: torch.nn.Module, inputs: Inputs, **_: Any) -> Inputs:
    return replace(inputs, substitutes=inputs.features.new_zeros(1, inputs.features.shape[2]))


def _mean_embedding(module: torch.nn.Module, inputs: Inputs, **_: Any) -> Inputs:
    """Take the mean of the model's vocabulary, not of the data: what an example gets must not depend on others."""
    weight: Any = input_embedding(module).weight
    total = inputs.features.new_zeros(1, inputs.features.shape[2])
    for ids in torch.arange(weight.shape[0], device=inputs.features.device).split(BLOCK):
        total += embed(module, {"input_ids": ids}).sum(dim=0, keepdim=True)
    return replace(inputs, substitutes=total / weight.shape[0])


def _resample(
    module: torch.nn.Module, inputs: Inputs, *, mask_token_id: int | None, seed: int, pool: Tensor | None
) -> Inputs:
    """Draw `draws` tokens for every place of every example, from all the data's words as often as they occur.

    Drawn on the CPU, place by place: they depend on the seed, the example's number and the place, and on no padding.
    """
    assert pool is not None, "`resample` is for texts given as `input_ids`"
    ids, number = pool.to(inputs.features.device).unique(return_inverse=True)
    if not len(ids):
        raise InputError("removal by resample needs data with at least one token that is not a special one.")
    draws, length = inputs.removal.draws, inputs.features.shape[1]
    seed = seed if inputs.removal.seed is None else inputs.removal.seed
    drawn = []
    for example in range(inputs.first, inputs.first + len(inputs)):
        generator = torch.Generator().manual_seed(combine_seeds(seed, example))
        drawn.append(torch.randint(len(number), (length, draws), generator=generator, device="cpu").T)
    choice = number[torch.stack(drawn).to(number.device)]
    return replace(inputs, substitutes=embed(module, {"input_ids": ids}), drawn=choice)


SUBSTITUTES = {
    "mask_token": _mask_token,
    "zero_embedding": _zero_embedding,
    "mean_embedding": _mean_embedding,
    "resample": _resample,
}
