"""Mixtures: the facts of each entry, moved by the same calls as the entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from axioms.engine.facts.access import WRITTEN, is_variable, known_of, laid_out, note, part_of
from axioms.engine.facts.record import Facts, Mixture, simplify


def outputs_of(value: Any) -> Iterable[Any]:
    """Return what a call returned, one by one."""
    return value if isinstance(value, list | tuple) else (value,)


def move_codes(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], moving: Sequence[Tensor]
) -> list[Facts | Mixture]:
    """Return the facts of each output of a call that moves the entries of these tensors."""
    table = _table(map(known_of, moving))
    codes = {id(tensor): _codes(known_of(tensor), tensor, table) for tensor in moving}
    with torch.no_grad(), torch._C.DisableTorchFunction():
        moved = func(*_swap(args, codes), **{name: _swap(argument, codes) for name, argument in kwargs.items()})
        return [simplify(code, table) for code in outputs_of(moved)]


def written_codes(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], moving: Sequence[Tensor]
) -> Facts | Mixture:
    """Return the facts of the first argument after a call that writes entries of these tensors into it."""
    table, place = _table(map(known_of, moving)), args[0]
    if len(table) == 1:
        return table[0]
    codes = {id(tensor): _codes(known_of(tensor), tensor, table) for tensor in moving}
    with torch.no_grad(), torch._C.DisableTorchFunction():
        dense = codes[id(place)].clone() if id(place) in codes else torch.zeros(place.shape, device=place.device)
        func(dense, *_swap(args[1:], codes), **{name: _swap(argument, codes) for name, argument in kwargs.items()})
        return simplify(dense, table)


def put(place: Tensor, known: Facts | Mixture) -> None:
    """Set the facts of a tensor that is about to be written to, and of what it is a view of."""
    note(place, known)
    base = place if place._base is None else place._base
    WRITTEN[base] = True
    if base is place or base.dtype != place.dtype:
        return
    before = known_of(base)
    parts = [known, before] if is_variable(base) else [known]
    table = _table(parts)
    with torch.no_grad(), torch._C.DisableTorchFunction():
        codes = laid_out(_codes(before, base, table) if len(parts) > 1 else torch.zeros(()), base)
        part_of(codes, place, base).copy_(_codes(known, place, table))
        note(base, simplify(codes, table))


def _table(known: Iterable[Facts | Mixture]) -> tuple[Facts, ...]:
    parts = [(facts,) if isinstance(facts, Facts) else facts.table for facts in known]
    return tuple(dict.fromkeys(part for table in parts for part in table))


def _codes(known: Facts | Mixture, tensor: Tensor, table: tuple[Facts, ...]) -> Tensor:
    """Return the number of each entry's facts in the table, as floating-point numbers, which every call can move."""
    with torch._C.DisableTorchFunction():
        if isinstance(known, Facts):
            return torch.full((), table.index(known) + 1.0, device=tensor.device).expand(tensor.shape)
        numbers = torch.tensor([0.0, *(table.index(fact) + 1.0 for fact in known.table)], device=tensor.device)
        return numbers[known.codes.long()]


def _swap(value: Any, codes: Mapping[int, Tensor]) -> Any:
    """Return the arguments with codes in the place of values; nothing is said of constants, whose code is 0."""
    if isinstance(value, list | tuple):
        parts = [_swap(part, codes) for part in value]
        return tuple(parts) if type(value) is tuple else parts
    if isinstance(value, Tensor) and value.is_floating_point():
        return codes[id(value)] if id(value) in codes else torch.zeros((), device=value.device).expand(value.shape)
    return value
