"""A spec file and everything that it `extends`, as one document."""

from __future__ import annotations

from pathlib import Path

from axioms.core.errors import Problem, SpecError, display_path
from axioms.core.source import Document, Path_, read

MERGED = ("run", "subject")
"""Sections that `extends` merges key by key; every other section of the extending file replaces the base's."""


def load(file: Path) -> Document:
    """Read a spec and everything it `extends`."""
    return _load(file, ())


def _load(file: Path, seen: tuple[Path, ...]) -> Document:
    document = read(file)
    if "extends" not in document.value:
        return document
    base_name = document.value["extends"]
    at = document.place(("extends",)).line
    if not isinstance(base_name, str):
        raise SpecError([Problem(file, at, "extends", f"must be a file name, not {base_name!r}.")])
    base_file = (file.parent / base_name).resolve()
    chain = (*seen, file.resolve())
    if base_file in chain:
        loop = " -> ".join(display_path(each) for each in (*chain[chain.index(base_file) :], base_file))
        raise SpecError([Problem(file, at, "extends", f"goes round in a circle: {loop}.")])
    if not base_file.is_file():
        raise SpecError([Problem(file, at, "extends", f"there is no file {display_path(base_file)}.")])
    return merge(_load(base_file, chain), document)


def merge(base: Document, child: Document) -> Document:
    """The child on top of its base: sections replace, `run` and `subject` merge key by key."""
    merged = Document(child.file, dict(base.value), dict(base.places))
    for key, value in child.value.items():
        if key == "extends":
            continue
        if key in MERGED and isinstance(value, dict) and isinstance(base.value.get(key), dict):
            merged.value[key] = {**base.value[key], **value}
            replaced: list[Path_] = [(key, inner) for inner in value]
        else:
            merged.value[key] = value
            replaced = [(key,)]
        for path in replaced:
            merged.places = {at: place for at, place in merged.places.items() if at[: len(path)] != path}
    merged.places.update(child.places)
    return merged
