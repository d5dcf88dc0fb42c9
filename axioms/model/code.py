"""The code that a model runs: its classes, the files that define them, and torch's own functions."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, MutableMapping
from types import ModuleType
from typing import Any

import torch
from torch import nn

from axioms.model.attributes import SIMPLE, PutBack

DESCRIPTORS = (property, classmethod, staticmethod)
SHARED = ("torch.nn.functional", "torch")
"""Files whose functions models call."""
COMPILER = "torch._dynamo"
"""It wraps what makes a module when something is first compiled, so that it hears of new ones."""


def files_of(module: nn.Module) -> list[ModuleType]:
    """Return the loaded files that define the classes of a model's parts, and those of torch's functions."""
    names = dict.fromkeys([*(type(part).__module__ for part in module.modules()), *SHARED])
    return [sys.modules[name] for name in names if name in sys.modules]


def code_of(module: nn.Module) -> Iterator[PutBack]:
    """Yield what puts back the code of a model: of its classes, of their files, and of the tables in these.

    Most patches are of this kind, and outlive the model: a class's `forward`, or the function in `modeling_bert.py`
    that computes attention.
    """
    kinds = dict.fromkeys(kind for part in module.modules() for kind in type(part).__mro__[:-1])
    files = files_of(module)
    for kind in (*kinds, torch.Tensor):
        yield _names_of(kind, f"{kind.__module__}.{kind.__qualname__}")
    for file in files:
        yield _names_of(file, file.__name__)
    own = [file for file in files if file.__name__ not in SHARED]
    tables = {id(table): (f"{file.__name__}.{name}", table) for file in own for name, table in _tables_in(file)}
    for name, table in tables.values():
        yield _entries_of(table, name)


def _names_of(holder: type | ModuleType, name: str) -> PutBack:
    """Put back the functions and classes of a class or a file, and the simple values of a class.

    What is new in a file was called by nobody before; what is new in a class may hide what it inherited. The simple
    values of a file may be counters of a method that stands in it.
    """
    before = dict(vars(holder))

    def put_back() -> list[str]:
        now = vars(holder)
        if len(now) == len(before) and all(map(operator.is_, now.values(), before.values())):
            return []
        replaced = [key for key, value in before.items() if now.get(key) is not value and _is_code(holder, key, value)]
        changed = [key for key in replaced if not _is_of_compiler(now.get(key))]
        new = [key for key in now if key not in before and isinstance(holder, type) and _is_function(now[key])]
        for key in changed:
            setattr(holder, key, before[key])
        for key in new:
            delattr(holder, key)
        return [f"{name}.{key}" for key in (*changed, *new)]

    return put_back


def _is_code(holder: type | ModuleType, key: str, value: Any) -> bool:
    """Tell whether a name belongs to the code: a function or a class, or a simple value that a class shares."""
    is_shared = isinstance(holder, type) and isinstance(value, SIMPLE) and not key.startswith("__")
    return is_shared or _is_function(value)


def _is_function(value: Any) -> bool:
    return callable(value) or isinstance(value, DESCRIPTORS)


def _is_of_compiler(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith(COMPILER)


def _tables_in(file: ModuleType) -> Iterator[tuple[str, MutableMapping[Any, Any]]]:
    """Yield the tables in a file, such as transformers' functions of attention, by name."""
    for name, table in vars(file).items():
        if (
            isinstance(table, MutableMapping)
            and not name.startswith("__")
            and any(map(callable, _items(table).values()))
        ):
            yield name, table


def _items(table: MutableMapping[Any, Any]) -> dict[Any, Any]:
    return dict(dict.items(table)) if isinstance(table, dict) else dict(table)


def _entries_of(table: MutableMapping[Any, Any], name: str) -> PutBack:
    """Put back the entries of a table; a new one was looked up by nobody before."""
    before = _items(table)

    def put_back() -> list[str]:
        now = _items(table)
        changed = [key for key, value in before.items() if now.get(key) is not value]
        for key in changed:
            table[key] = before[key]
        return [f"{name}[{key!r}]" for key in changed]

    return put_back
