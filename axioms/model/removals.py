"""What it means to remove a feature: seven ways, each exact, each for a whole batch at once.

zero             the feature becomes 0 (pixels and other features without embeddings)
attention_mask   nobody attends to the token any more; it keeps its place and its position (You et al. 2025, 4.1)
delete           the token is taken out and the text closes up: the model sees a shorter text
mask_token       the tokenizer's mask token takes its place
zero_embedding   the zero vector takes the place of its embedding
mean_embedding   the mean of all rows of the model's input embedding does
resample         a token drawn from the data's own tokens does, the mean over `draws` of them is taken
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from axioms.core.errors import InputError
from axioms.core.seeds import Seed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from axioms.model.inputs import Inputs

Kind = Literal["zero", "attention_mask", "delete", "mask_token", "zero_embedding", "mean_embedding", "resample"]
KINDS: tuple[Kind, ...] = get_args(Kind)
BY_MASK = ("attention_mask", "delete")
POSITIONS_FROM_MASK = ("opt",)
"""Model types that count positions over the attention mask, unless they are given: removal must not move tokens."""
ALIBI_FROM_MASK = ("bloom", "falcon")
"""Model types that do so for ALiBi and take no positions."""


class Removal(BaseModel):
    """`remove: attention_mask`, or `remove: {kind: delete, chunk: 16, special_tokens: keep}`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: Kind | None = Field(None, description="By default the attention mask where there is one, else zero.")
    chunk: int = Field(1, gt=0, description="How many consecutive tokens are one unit, removed and ranked as a whole.")
    special_tokens: Literal["keep", "include"] = Field(
        "include",
        description="Whether [CLS], [SEP] and their like are never removed, or are tokens like all others, as in "
        "You et al. 2025 (which masks each token and excepts none).",
    )
    draws: int = Field(
        1, gt=0, le=1000, description="Of `resample`: how many replacements the output is averaged over."
    )
    seed: Seed | None = Field(None, description="Of `resample`; the run's seed by default.")
    mask_token_id: int | None = Field(None, ge=0, description="Of `mask_token`; the tokenizer's by default.")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, raw: Any) -> Any:
        return {"kind": raw} if isinstance(raw, str) else raw

    @model_validator(mode="after")
    def _fits(self) -> Self:
        given = self.model_fields_set
        for kind, names in (("resample", {"draws", "seed"}), ("mask_token", {"mask_token_id"})):
            if self.kind != kind and names & given:
                what = f"`{sorted(names & given)[0]}` is an option of kind `{kind}`"
                raise PydanticCustomError("spec", "{what}", {"what": what})
        return self


def prepared(
    module: torch.nn.Module,
    inputs: Inputs,
    removal: Removal,
    *,
    mask_token_id: int | None,
    seed: int,
    pool: Tensor | None,
) -> Inputs:
    """Return the inputs with all that their removal needs, or raise an error that says what is missing.

    `pool` (number) are the tokens that `resample` may draw, as often as they occur in the data; None without tokens.
    """
    from axioms.model.inputs import EMBEDDINGS

    mask = inputs.fixed.get("attention_mask")
    kind = removal.kind or ("zero" if mask is None else "attention_mask")
    inputs = replace(inputs, removal=removal.model_copy(update={"kind": kind}))
    if kind == "zero":
        return inputs
    if kind == "attention_mask" and mask is None:
        raise InputError("removal by attention mask needs an `attention_mask` among the inputs.")
    if kind in BY_MASK and (mask is None or mask.dim() != 2 or mask.shape != inputs.features.shape[:2]):
        raise InputError(f"removal by {kind} needs an `attention_mask` of batch x tokens among the inputs.")
    if kind == "attention_mask":
        fixed = {**inputs.fixed, **fixed_positions(module, inputs)}
        return replace(inputs, fixed=fixed, unremovable=moved_by_a_mask(module))
    if inputs.slot != EMBEDDINGS:
        raise InputError(f"removal by {kind} is for texts given as `input_ids`; use `zero` for other features.")
    if kind == "delete":
        pad = getattr(getattr(module, "config", None), "pad_token_id", None)
        return replace(inputs, pad=pad or 0)
    from axioms.model.substitutes import SUBSTITUTES

    return SUBSTITUTES[kind](module, inputs, mask_token_id=mask_token_id, seed=seed, pool=pool)


def without(inputs: Inputs, removed: Tensor, draw: int = 0) -> Inputs:
    """Return the inputs without the features where `removed` (batch x features, bool) is true."""
    kind = inputs.removal.kind
    if inputs.unremovable:
        raise InputError(inputs.unremovable)
    if kind == "attention_mask":
        mask = inputs.fixed["attention_mask"]
        gone = removed & ~last_resort(inputs, removed)
        return replace(inputs, fixed={**inputs.fixed, "attention_mask": mask.masked_fill(gone, 0)})
    if kind == "delete":
        return shortened(inputs, removed)
    wide = removed.reshape(*removed.shape, *(1,) * (inputs.features.dim() - removed.dim()))
    if inputs.substitutes is None:
        return inputs.with_features(inputs.features.masked_fill(wide, 0))
    put = inputs.substitutes.to(inputs.features)
    put = put[0] if inputs.drawn is None else put[inputs.drawn[:, draw]]
    return inputs.with_features(put.where(wide, inputs.features))


def ends(inputs: Inputs) -> Tensor:
    """Return where the first and the last token of a text are, and the one that is read: batch x tokens, bool."""
    import torch

    lengths = inputs.lengths
    assert lengths is not None
    there = inputs.fixed["attention_mask"] != 0
    place = torch.arange(there.shape[1], device=there.device)
    first, last = there.int().argmax(dim=1), lengths - 1
    read = last if inputs.position is None else inputs.position
    return (place == first[:, None]) | (place == last[:, None]) | (place == read[:, None])


def last_resort(inputs: Inputs, removed: Tensor) -> Tensor:
    """Return the tokens that stay where nothing would: the ends of a text that is removed altogether.

    A softmax over no key is not defined: eager attention then looks at all keys alike, padding included, sdpa at none.
    An empty text keeps its two ends, [CLS] and [SEP] of a BERT, so that it is the same in every backend and batch, and
    the token that is read, whose query then finds a key also in local and causal attention.
    """
    there = inputs.fixed["attention_mask"] != 0
    return ends(inputs) & ~(there & ~removed).any(dim=1, keepdim=True)


def shortened(inputs: Inputs, removed: Tensor) -> Inputs:
    """Return the texts without these tokens, closed up at the front and padded again.

    The place that is read moves with its token; without that it is the place of the next one, or the last there is.
    """
    mask = inputs.fixed["attention_mask"]
    stays = (mask != 0) & ~(removed & ~last_resort(inputs, removed))
    fixed = dict(inputs.fixed)
    places = fixed.pop("position_ids", None)
    short = _closed_up(replace(inputs, fixed=fixed), stays)
    if places is None:
        return short
    length = short.features.shape[1]  # positions belong to places, not to tokens
    at_front = places[:, :length] if places.shape == mask.shape else places
    return replace(short, fixed={**short.fixed, "position_ids": at_front})


def packed(inputs: Inputs, ends: Tensor) -> Inputs:
    """Return the texts without the tokens that are masked, each other token at the position that it had.

    `ends` (batch x tokens, bool) stay in any case: what is read may be masked and is still computed.
    """
    import torch

    mask = inputs.fixed["attention_mask"]
    places = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    fixed = {"position_ids": places, **inputs.fixed}
    return _closed_up(replace(inputs, fixed=fixed), (mask != 0) | ends)


def _closed_up(inputs: Inputs, stays: Tensor) -> Inputs:
    """Return the texts with the tokens that stay (batch x tokens, bool) moved to the front, and padding behind them."""
    import torch

    mask = inputs.fixed["attention_mask"]
    count = stays.sum(dim=1)
    length = int(count.max())
    order = (~stays).int().argsort(dim=1, stable=True)[:, :length]
    there = torch.arange(length, device=mask.device) < count.unsqueeze(1)
    filling = {"input_ids": inputs.pad, "attention_mask": 0}

    def moved(name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.shape != mask.shape:
            return value
        value = value.gather(1, order)
        return value.masked_fill(~there, filling[name]) if name in filling else value

    fixed = {name: moved(name, value) for name, value in inputs.fixed.items()}
    features = inputs.features.gather(1, order.unsqueeze(-1).expand(-1, -1, inputs.features.shape[2]))
    assert inputs.position is not None
    before = torch.arange(mask.shape[1], device=mask.device) < inputs.position.unsqueeze(1)
    position = (stays & before).sum(dim=1).minimum(count - 1)
    return replace(inputs, features=features, fixed=fixed, position=position, candidates=there)


def moved_by_a_mask(module: torch.nn.Module) -> str:
    """Return why no token can be masked in a model that counts its positions by the mask; empty where it can."""
    config = getattr(module, "config", None)
    kind = getattr(config, "model_type", None)
    if kind not in ALIBI_FROM_MASK or (kind == "falcon" and not getattr(config, "alibi", False)):
        return ""
    return (
        f"{kind} counts its positions over the attention mask, so that masking a token would move all that follow; "
        "use another removal, for example `delete` or `mean_embedding`."
    )


def fixed_positions(module: torch.nn.Module, inputs: Inputs) -> Mapping[str, Tensor]:
    """Return the positions over the whole mask, for a model that would count them over what is left."""
    config = getattr(module, "config", None)
    kind, mask = getattr(config, "model_type", None), inputs.fixed["attention_mask"]
    if kind not in POSITIONS_FROM_MASK or "position_ids" in inputs.fixed:
        return {}
    return {"position_ids": (mask.cumsum(dim=1) * mask - 1).long()}
