"""Facts of a tensor, asked for and set. This is the only module that sets an attribute on a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from axioms.engine.facts.record import PLAIN, Facts, Mixture, combine, simplify

NAME = "_axioms_facts"
WRITTEN: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""Tensors that were written to, themselves or through a view: what is known of any view of them is read from them."""


def _noted(tensor: Tensor) -> Facts | Mixture | None:
    """Return what is known of a value; None where nothing is."""
    if WRITTEN and (base := tensor._base) is not None and base in WRITTEN:
        return _seen_through(tensor, base)
    known: Facts | Mixture | None = tensor.__dict__.get(NAME)
    return known


def _seen_through(view: Tensor, base: Tensor) -> Facts | Mixture | None:
    """Return what is known of a view of a tensor that was written to since."""
    known: Facts | Mixture | None = base.__dict__.get(NAME)
    if not isinstance(known, Mixture) or view.dtype != base.dtype:
        return known
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return simplify(part_of(laid_out(known.codes, base), view, base), known.table)


def laid_out(codes: Tensor, base: Tensor) -> Tensor:
    """Return a copy of the codes with the strides of the tensor that they are of."""
    return torch.empty_strided(base.shape, base.stride(), device=base.device).copy_(codes)


def part_of(codes: Tensor, view: Tensor, base: Tensor) -> Tensor:
    """Return the codes of a view out of those of its base, as a view of them."""
    return codes.as_strided(view.shape, view.stride(), view.storage_offset() - base.storage_offset())


def known_of(tensor: Tensor) -> Facts | Mixture:
    """Return the facts of a value, or the mixture of facts that it has."""
    return _noted(tensor) or PLAIN


def has_facts(tensor: Tensor) -> bool:
    """Tell whether anything but the plain is known of a value."""
    return _noted(tensor) is not None


def of(tensor: Any) -> Facts:
    """Return what is known of a value; of a mixture, what holds for all of it."""
    known = _noted(tensor)
    if known is None:
        return PLAIN
    return known if isinstance(known, Facts) else combine(known.table)


def held_entries(tensor: Tensor) -> Tensor | None:
    """Return where a value is held constant, in its shape; None where it is nowhere."""
    known = _noted(tensor)
    if known is None or isinstance(known, Facts):
        return None
    held = torch.tensor([False, *(facts.is_held for facts in known.table)], device=tensor.device)
    return held[known.codes.long()] if bool(held.any()) else None


def is_variable(value: Any) -> bool:
    """Tell whether a value depends on the input."""
    return isinstance(value, Tensor) and (value.requires_grad or of(value).varies)


def survey(values: Iterable[Any]) -> tuple[bool, bool]:
    """Tell whether there is a variable among the arguments of a call, lists included, and whether any has facts."""
    varies = known = False
    for value in values:
        if isinstance(value, Tensor):
            facts = _noted(value)
            if facts is not None:
                known = True
                varies = varies or value.requires_grad or of(value).varies
            elif value.requires_grad:
                varies = True
        elif isinstance(value, list | tuple):
            inner = survey(value)
            varies, known = varies or inner[0], known or inner[1]
    return varies, known


def variables(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among `values`, lists included, that depend on the input."""
    return (tensor for tensor in tensors(values) if is_variable(tensor))


def tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    """Yield the tensors among `values`, lists included."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors(value)


def vary(features: Tensor) -> Tensor:
    """Return a copy of the features that counts as a variable in a pass without gradients."""
    copy = features.detach().clone()
    setattr(copy, NAME, Facts(varies=True))
    return copy


def hold(value: Tensor, held: Tensor) -> Tensor:
    """Note that the entries where `held` (which broadcasts) is true are treated as constants."""
    codes = torch.where(held, 2.0, 1.0).expand(value.shape)
    setattr(value, NAME, Mixture(codes, (PLAIN, Facts(is_held=True))))
    return value


def give(source: Tensor, target: Tensor) -> Tensor:
    """Give a tensor of the same shape the facts of another, and no others."""
    note(target, _noted(source))
    return target


def note(tensor: Any, facts: Facts | Mixture | None) -> None:
    """Set the facts of a tensor of numbers; nothing else has any."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        return
    if facts is None or facts == PLAIN:
        tensor.__dict__.pop(NAME, None)
    else:
        setattr(tensor, NAME, facts)
