"""A spec file and everything that it `extends`, as one document."""

from __future__ import annotations

from pathlib import Path

from axioms.core.errors import Problem, SpecError, display_path
from axioms.core.source import Document, read
from axioms.core.suite import PREFIX, suite_specs
from axioms.spec.merge import ADD, merge


def load(file: Path) -> Document:
    """Read a spec and everything that it `extends`."""
    return _load(file, ())


def _load(file: Path, chain: tuple[Path, ...]) -> Document:
    document = read(file)
    if "extends" not in document.value:
        if ADD in document.value:
            what = "adds to what a spec `extends`, and this one extends nothing: write the sections without `add`."
            raise SpecError([document.problem((ADD,), what)])
        return document
    base_name = document.value["extends"]
    line = document.place(("extends",)).line
    if not isinstance(base_name, str) or "\0" in base_name:
        raise SpecError([Problem(file, line, "extends", f"must be a file name, not {base_name!r}.")])
    if base_name.startswith(PREFIX):
        base_file = suite_specs() / base_name.removeprefix(PREFIX)
    else:
        base_file = (file.parent / base_name).resolve()
    chain = (*chain, file.resolve())
    if base_file in chain:
        circle = " -> ".join(display_path(member) for member in (*chain[chain.index(base_file) :], base_file))
        raise SpecError([Problem(file, line, "extends", f"goes round in a circle: {circle}.")])
    if not base_file.is_file():
        raise SpecError([Problem(file, line, "extends", f"there is no file {display_path(base_file)}.")])
    return merge(_load(base_file, chain), document)
