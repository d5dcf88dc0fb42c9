"""The plain attributes of modules and the settings of configs: as they were, compared, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, cached_property
from inspect import getattr_static
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

PutBack = Callable[[], list[str]]
"""Puts something back as it was, and returns the names of what had changed of it."""
SIMPLE = (bool, int, float, complex, str, bytes, frozenset, type(None), torch.dtype, torch.device)
"""Values that are the same where they are equal; of all others only the same object is."""
NO_CONFIGS = (*SIMPLE, dict, list, tuple, set, type, FunctionType, nn.Module, Tensor)
DEPTH = 4
"""How many containers within one another are looked into."""


class Kept:
    """A value as it was, and what it contained, where that may change in place."""

    def __init__(self, value: Any, depth: int = DEPTH) -> None:
        self.value, self._contents = value, None if isinstance(value, SIMPLE) else _contents(value, depth)

    def is_still(self, now: Any) -> bool:
        """Tell whether a value is what it was, or equal to that."""
        if self._contents is None:
            return now is self.value or (type(now) is type(self.value) and _are_equal(now, self.value))
        if type(now) is not type(self.value):
            return False
        if isinstance(now, Tensor):
            return same_values(now, self._contents)
        if isinstance(now, set):
            return bool(now == self._contents)
        if isinstance(now, dict):
            kept_items = self._contents.items()
            return now.keys() == self._contents.keys() and all(
                kept.is_still(dict.get(now, key)) for key, kept in kept_items
            )
        return len(now) == len(self._contents) and all(map(Kept.is_still, self._contents, now))

    def put_back(self) -> Any:
        """Return the value itself, with what it contained."""
        value = self.value
        if self._contents is None or self.is_still(value):
            return value
        if isinstance(value, Tensor):
            value.data = self._contents.clone()
        elif isinstance(value, list):
            value[:] = [kept.put_back() for kept in self._contents]
        elif isinstance(value, set):
            value.clear()
            value.update(self._contents)
        elif isinstance(value, dict):
            items = {name: kept.put_back() for name, kept in self._contents.items()}
            value.clear()
            value.update(items)
        else:
            for kept in self._contents:  # a tuple
                kept.put_back()
        return value


def _contents(value: Any, depth: int) -> Any:
    """Return what a value contains: the numbers of a tensor, the items of a container; None for all else."""
    if isinstance(value, Tensor):  # parameters are watched where they belong
        is_read = not (value.is_meta or value.is_nested or isinstance(value, nn.Parameter))
        return value.detach().clone() if is_read else None
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {name: Kept(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [Kept(item, depth - 1) for item in value]
    return set(value) if isinstance(value, set) else None


def _are_equal(one: Any, other: Any) -> bool:
    return isinstance(one, SIMPLE) and bool(one == other or (one != one and other != other))


def same_values(tensor: Tensor, before: Tensor) -> bool:
    """Tell whether a tensor has the dtype, shape, device and numbers of another, of which some may be no numbers."""
    if (tensor.dtype, tensor.shape, tensor.device) != (before.dtype, before.shape, before.device):
        return False
    if tensor.layout != torch.strided:  # torch compares no others
        return tensor.layout == before.layout and same_values(tensor.to_dense(), before.to_dense())
    return torch.equal(tensor, before) or bool(((tensor == before) | ((tensor != tensor) & (before != before))).all())


def attributes_of(name: str, part: nn.Module) -> PutBack:
    """Put back the class and the plain attributes of a module; its tables and hooks are not among them.

    A new attribute is taken away. It is named only where it hides something of the class, such as a method: anything
    else is a note that somebody left, which the model does not read.
    """
    kind, known = type(part), _attributes_of_all()
    before = {key: Kept(value) for key, value in vars(part).items() if key not in known}

    def put_back() -> list[str]:
        changed = [] if type(part) is kind else ["__class__"]
        part.__class__ = kind
        now = vars(part)
        for key in [key for key in now if key not in before and key not in known]:
            del now[key]
            changed += [key] if _hides(kind, key) else []
        for key, kept in before.items():
            if key not in now or not kept.is_still(now[key]):
                changed.append(key)
                now[key] = kept.put_back()
        return [f"{name}.{key}".removeprefix(".") for key in changed]

    return put_back


@cache
def _attributes_of_all() -> frozenset[str]:
    """Return the attributes that every module has, each of which is watched for itself."""
    return frozenset(vars(nn.Module())) | {"forward"}


def _hides(kind: type, key: str) -> bool:
    """Tell whether an attribute hides one of the class, and is not what a cached property keeps in its own place."""
    nothing = object()
    defined = getattr_static(kind, key, nothing)
    return defined is not nothing and not isinstance(defined, cached_property)


def configs_of(module: nn.Module) -> Iterator[PutBack]:
    """Yield what puts back the settings of every config that a module or one of its parts has, and of those in it."""
    known: set[int] = set()
    shared = _attributes_of_all()
    items = [item for part in module.modules() for item in vars(part).items()]
    waiting = [value for key, value in items if key not in shared and _is_config(value)]
    for config in waiting:
        if id(config) not in known:
            known.add(id(config))
            waiting += [value for value in vars(config).values() if _is_config(value)]
            yield _settings_of(config)


def _is_config(value: Any) -> bool:
    """Tell whether a value is a set of named settings: a config of transformers, a data class, a namespace."""
    if isinstance(value, NO_CONFIGS) or not hasattr(value, "__dict__"):
        return False
    return isinstance(value, SimpleNamespace) or is_dataclass(value) or hasattr(value, "to_dict")


def _settings_of(config: Any) -> PutBack:
    table = vars(config)
    before = {key: Kept(value) for key, value in table.items()}

    def put_back() -> list[str]:
        changed = [key for key, kept in before.items() if key not in table or not kept.is_still(table[key])]
        changed += [key for key in table if key not in before]
        if changed:
            items = {key: kept.put_back() for key, kept in before.items()}
            table.clear()
            table.update(items)
        return changed

    return put_back
