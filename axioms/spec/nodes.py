"""Values of documents, and the ways to put one on top of another without losing where each was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from axioms.core.errors import SpecError
from axioms.core.source import Document, Path_


@dataclass(frozen=True)
class Node:
    """A value in a document."""

    document: Document
    path: Path_
    value: Any

    def __getitem__(self, key: str | int) -> Node:
        return Node(self.document, (*self.path, key), self.value[key])

    @property
    def items(self) -> list[Node]:
        """The items of a list."""
        return [self[index] for index in range(len(self.value))]

    def copy(self, into: Document, to: Path_) -> Any:
        """Return the value for use at path `to` of another document, which learns where all of it was written."""
        self.name(into, to)
        if isinstance(self.value, dict):
            return {key: self[key].copy(into, (*to, key)) for key in self.value}
        if isinstance(self.value, list):
            return [item.copy(into, (*to, index)) for index, item in enumerate(self.items)]
        return self.value

    def name(self, into: Document, to: Path_) -> None:
        """Tell another document where this value, which it has at path `to`, was written."""
        if self.path in self.document.places:
            into.places[to] = self.document.places[self.path]
            into.written[to] = self.document.written.get(self.path, self.path)

    def error(self, what: str) -> SpecError:
        """Return an error about this value."""
        return SpecError([self.document.problem(self.path, what)])


Combine = Callable[[Node, Node, Document, Path_], Any]
"""From a value and the one on top of it to what stands at a path of the merged document."""


def replace(base: Node, upper: Node, into: Document, to: Path_) -> Any:
    """Return the upper value."""
    return upper.copy(into, to)


def by_key(parts: Mapping[str, Combine] | None = None, others: Combine = replace) -> Combine:
    """Return a merge of mappings, in which keys that both have are combined as `parts` says, or else by `others`."""

    def combine(base: Node, upper: Node, into: Document, to: Path_) -> Any:
        if not (isinstance(base.value, dict) and isinstance(upper.value, dict)):
            return upper.copy(into, to)
        base.name(into, to)
        upper.name(into, to)
        merged = {}
        for key in dict.fromkeys([*base.value, *upper.value]):
            if key in base.value and key in upper.value:
                merged[key] = (parts or {}).get(key, others)(base[key], upper[key], into, (*to, key))
            else:
                merged[key] = (upper if key in upper.value else base)[key].copy(into, (*to, key))
        return merged

    return combine


def upper_first(base: Node, upper: Node, into: Document, to: Path_) -> Any:
    """Merge mappings of which the first key that matches counts: those of the upper one stand before the others."""
    merged = by_key()(base, upper, into, to)
    return {key: merged[key] for key in dict.fromkeys([*upper.value, *merged])} if isinstance(merged, dict) else merged


def append(base: Node, upper: Node, into: Document, to: Path_) -> Any:
    """Append those items of a list that are not there yet."""
    if not (isinstance(base.value, list) and isinstance(upper.value, list)):
        return upper.copy(into, to)
    upper.name(into, to)
    items = [*base.items, *(item for item in upper.items if item.value not in base.value)]
    return [item.copy(into, (*to, index)) for index, item in enumerate(items)]
