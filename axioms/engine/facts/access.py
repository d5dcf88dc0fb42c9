"""Facts of a tensor, asked for and set. This is the only module that sets an attribute on a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from axioms.engine.facts.record import PLAIN, Facts, Mixture, combine

NAME = "_axioms_facts"


def known_of(tensor: Tensor) -> Facts | Mixture:
    """Return the facts of a value, or the mixture of facts that it has."""
    known: Facts | Mixture = tensor.__dict__.get(NAME, PLAIN)
    return known


def has_facts(tensor: Tensor) -> bool:
    """Tell whether anything but the plain is known of a value."""
    return NAME in tensor.__dict__


def of(tensor: Any) -> Facts:
    """Return what is known of a value; of a mixture, what holds for all of it."""
    known = tensor.__dict__.get(NAME)
    if known is None:
        return PLAIN
    return known if isinstance(known, Facts) else combine(known.table)


def held_entries(tensor: Tensor) -> Tensor | None:
    """Return where a value is held constant, in its shape; None where it is nowhere."""
    known = tensor.__dict__.get(NAME)
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
            facts = value.__dict__.get(NAME)
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
    note(target, source.__dict__.get(NAME))
    return target


def note(tensor: Any, facts: Facts | Mixture | None) -> None:
    """Set the facts of a tensor of numbers; nothing else has any."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        return
    if facts is None or facts == PLAIN:
        tensor.__dict__.pop(NAME, None)
    else:
        setattr(tensor, NAME, facts)
