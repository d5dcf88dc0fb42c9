"""Options that name files: what a spec or a fixture writes is relative to it, not to where pytest was started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from axioms.core.entries import Registered

_FILE, _FOLDER = "a file", "a folder, or a name"

FilePath = Annotated[str, _FILE]
"""Type of an option that names a file."""

OptionalPath = Annotated[str | None, _FILE]
"""Type of an option that names a file or a folder, or nothing."""

FolderOrName = Annotated[str, _FOLDER]
"""Type of an option that names a folder if there is one, else something on the hub."""


def resolved(entry: Registered, options: Mapping[str, Any], written_in: Path) -> dict[str, Any]:
    """Return the options with absolute paths in place of those relative to the file that they are written in."""
    fields = entry.options_model().model_fields
    absolute = dict(options)
    for name, value in options.items():
        marks = fields[name].metadata if name in fields else []
        if not isinstance(value, str) or not {_FILE, _FOLDER} & {mark for mark in marks if isinstance(mark, str)}:
            continue
        path = (written_in.resolve().parent / Path(value).expanduser()).resolve()
        if _FILE in marks or path.is_dir():
            absolute[name] = str(path)
    return absolute
