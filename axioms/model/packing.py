"""Texts closed up over the tokens that are masked: what a model computes for those reaches nothing.

A removal by the attention mask leaves its tokens in the text, and a model computes them like all others although nobody
looks at them: half of a perturbation curve. Taken out, they cost nothing, and nothing else changes where a model knows
every other token by the position that it is told, and not by where it stands in the batch. Relative positions, windows
and readings at a fixed place do not work that way. Whether a model does is not read off its class but tried, in every
call and on up to three of its removals.
"""

from __future__ import annotations

import inspect
from weakref import WeakSet

import torch
from torch import Tensor, nn

from axioms.model.inputs import EMBEDDINGS, Inputs
from axioms.model.prefix import EXACT
from axioms.model.removals import ends

PLACES = "position_ids"
WORTHWHILE = 5
"""How many texts' worth of tokens must be saved to make up for those that are tried."""
_PLACED: WeakSet[nn.Module] = WeakSet()
"""Models that know a token by its place."""


def may_pack(module: nn.Module, inputs: Inputs, removed: Tensor) -> bool:
    """Tell whether closing up these removals may be worth it: by what the module takes, and by how much it saves."""
    if inputs.slot != EMBEDDINGS or inputs.removal.kind != "attention_mask" or module in _PLACED:
        return False
    if inputs.features.dtype not in EXACT or inputs.features.is_meta:
        return False
    takes_places = PLACES in inspect.signature(module.forward).parameters
    return takes_places and int(removed.sum()) >= WORTHWHILE * removed.shape[1]


def never_pack(module: nn.Module) -> None:
    """Remember that a model knows a token by its place."""
    _PLACED.add(module)


def computed_always(inputs: Inputs) -> Tensor:
    """Return the tokens that are computed even where they are masked, since they may be read: batch x tokens, bool."""
    always = ends(inputs)
    always[:, 0] = True  # the first place is what a classifier reads, be it padding
    return always


def to_try(removed: Tensor, stays: Tensor) -> Tensor:
    """Return the numbers of the removals that tell most about a model; both are number x tokens, bool.

    The one that moves tokens furthest, the one that changes most distances, and of those that mask the first place too
    the one that moves tokens furthest: a model may do something else where what it reads is masked.
    """
    moved = ((~stays).cumsum(dim=1) * stays).sum(dim=1)
    behind = stays.sum(dim=1, keepdim=True) - stays.cumsum(dim=1)
    distances = (~stays * stays.cumsum(dim=1) * behind).sum(dim=1)
    return torch.stack([value.argmax() for value in (moved, distances, moved * removed[:, 0])]).unique()
