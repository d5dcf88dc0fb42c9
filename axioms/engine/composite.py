"""A composite: which rule each operation gets, by its kind, its function, its module and its layer.

A propagation method is a composite.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class RuleRef:
    """A rule by name with its options."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A rule for the operations of one kind; narrower where it names functions, modules or layers."""

    kind: str
    rule: RuleRef
    functions: frozenset[str] = frozenset()
    modules: str = "*"
    """A glob on the module's path."""
    layers: frozenset[int] = frozenset()
    """1-based, as the papers print them."""
    owning: str = ""
    """A parameter that the module itself has."""

    def matches(self, kind: str, function: str, path: str, owned: frozenset[str]) -> bool:
        """Tell whether an operation is meant, by its kind and function and by the path and parameters of its module."""
        return (
            kind == self.kind
            and (not self.owning or self.owning in owned)
            and (not self.functions or function in self.functions)
            and (self.modules == "*" or fnmatchcase(path, self.modules))
            and (not self.layers or layer_number(path) in self.layers)
        )


class Composite:
    """Entries in order; the last that matches decides. An operation that none matches keeps its plain gradient.

    Gates are the exception: no share of sigmoid(x) belongs to x, so an operation of that kind needs an entry.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self.rule = lru_cache(4096)(self._rule)

    @classmethod
    def of(cls, rules: Mapping[str, RuleRef]) -> Composite:
        """Return a composite with one rule for each kind of operation."""
        return cls(Entry(kind, rule) for kind, rule in rules.items())

    def then(self, *entries: Entry) -> Composite:
        """Return a composite with more entries, which win over the earlier ones."""
        return Composite((*self.entries, *entries))

    def has(self, kind: str) -> bool:
        """Tell whether any entry is for operations of this kind."""
        return any(entry.kind == kind for entry in self.entries)

    def _rule(self, kind: str, function: str, path: str, owned: frozenset[str] = frozenset()) -> RuleRef | None:
        for entry in reversed(self.entries):
            if entry.matches(kind, function, path, owned):
                return entry.rule
        return None


@lru_cache(4096)
def layer_number(path: str) -> int | None:
    """Return the 1-based number of the layer that a module's path lies in: the first number in it, plus one."""
    number = re.search(r"(?:^|\.)(\d+)(?:\.|$)", path)
    return int(number.group(1)) + 1 if number else None
