"""YAML text as plain values, with the file and line of every key; for specs and for fixtures.

Stricter than PyYAML where PyYAML surprises: `1e-9` is a number, only `true` and `false` are booleans, a key
given twice is an error, and aliases cannot explode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from axioms.core.errors import Problem, SpecError, display_path

Path_ = tuple[str | int, ...]
"""Keys and list positions from the root of a document."""


class Place(NamedTuple):
    """Where something was written."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{display_path(self.file)}:{self.line}"


LARGEST_FILE = 1 << 20
MOST_VALUES = 50_000


# The same language in C, many times as fast; not every installation of PyYAML has it.
Safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(Safe):  # type: ignore[misc]
    """SafeLoader with YAML 1.2's numbers and booleans."""


Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:float", "tag:yaml.org,2002:bool")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


@dataclass(eq=False)  # one document is one reading of a file: what was made of it can be kept by it
class Document:
    """A spec as plain values, and where each of them was written."""

    file: Path
    value: dict[str, Any]
    places: dict[Path_, Place] = field(default_factory=dict)
    written: dict[Path_, Path_] = field(default_factory=dict)
    """The path of a value in its own file, where merging has given it another one."""

    def place(self, path: Path_) -> Place:
        """Return file and line of the value at `path`, or of the nearest enclosing one."""
        return self.places.get(self._nearest(path), Place(self.file, 1))

    def problem(self, path: Path_, what: str) -> Problem:
        """Return a problem with the value at `path`, which is named as its own file names it."""
        place, nearest = self.place(path), self._nearest(path)
        where = (*self.written.get(nearest, nearest), *path[len(nearest) :])
        return Problem(place.file, place.line, dotted(where), what)

    def _nearest(self, path: Path_) -> Path_:
        """Return the longest beginning of `path` that has a place."""
        ends = range(len(path), -1, -1)
        return next((path[:end] for end in ends if path[:end] in self.places), ())


def dotted(path: Path_) -> str:
    """Return `("checks", 0, "expect")` as `checks[0].expect`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read(file: Path) -> Document:
    """Return one YAML file as a mapping with places; every way in which it is not one is a `SpecError`.

    A base or a fixture that many specs name is read once, unless it changes. Do not change what is returned.
    """
    try:
        status = file.stat()
    except OSError:
        return _read(file, 0, 0)
    return _read(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _read(file: Path, time: int, size: int) -> Document:
    def fail(line: int, what: str) -> SpecError:
        return SpecError([Problem(file, line, "", what)])

    try:
        raw = file.read_bytes()
    except OSError as error:
        raise fail(1, f"cannot be read: {error.strerror}.") from None
    if len(raw) > LARGEST_FILE:
        raise fail(1, f"is {len(raw):,} bytes; a spec is at most {LARGEST_FILE:,}. Keep data in a fixture.")
    try:
        node = yaml.compose(raw.decode("utf-8"), Loader=Loader)
    except UnicodeDecodeError as error:
        raise fail(raw[: error.start].count(b"\n") + 1, "is not UTF-8 text.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise fail(line, f"is not YAML: {getattr(error, 'problem', None) or error}.") from None
    except RecursionError:
        raise fail(1, "is nested too deeply.") from None
    if not isinstance(node, yaml.MappingNode):
        raise fail(1, "must be a mapping that starts with `claim:`.")
    builder = _Builder(file)
    value = builder.build(node, ())
    if builder.problems:
        raise SpecError(builder.problems)
    return Document(file, value, builder.places)


class _Builder:
    """Builds values from YAML nodes. Aliases are followed, so the number of values is counted and bounded."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.places: dict[Path_, Place] = {}
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._built = 0
        self._scalars = Loader("")

    def build(self, node: yaml.Node, path: Path_) -> Any:
        line = node.start_mark.line + 1
        self._built += 1
        if self._built > MOST_VALUES:
            what = f"expands to more than {MOST_VALUES:,} values; aliases multiply."
            raise SpecError([Problem(self.file, line, "", what)])
        if id(node) in self._open:
            raise SpecError([Problem(self.file, line, dotted(path), "an alias that contains itself.")])
        self.places.setdefault(path, Place(self.file, line))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path, line)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
            return dict(self._pairs(node, path))
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, path: Path_, line: int) -> Any:
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self.problems.append(Problem(self.file, line, dotted(path), f"cannot be read: {error}"))
            return None

    def _pairs(self, node: yaml.Node, path: Path_) -> Iterator[tuple[str, Any]]:
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(self.file, line, dotted(path), "a key must be plain text."))
                continue
            key = str(key_node.value)
            if key in first_lines:
                what = f"key {key!r} is given twice, first in line {first_lines[key]}."
                self.problems.append(Problem(self.file, line, dotted(path), what))
            first_lines[key] = line
            # The key's line, not the value's: that is where a reader looks.
            self.places[(*path, key)] = Place(self.file, line)
            yield key, self.build(value_node, (*path, key))
