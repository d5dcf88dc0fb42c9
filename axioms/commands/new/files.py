"""Files that a scaffold writes: a file that is there is never overwritten, and what is done is said."""

from __future__ import annotations

import re
from pathlib import Path

from axioms.commands.settings import find_settings
from axioms.core.errors import InputError, display_path

WORKFLOW_FILE = Path(".github/workflows/axioms.yml")
SETTINGS_FILE = Path("pytest.ini")
IMPORT = re.compile(r"^axioms_import[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def write_new(files: dict[Path, str]) -> list[Path]:
    """Write all files, or none where one is there already."""
    there = [display_path(file) for file in files if file.exists()]
    if there:
        verb, pronoun = ("exists", "is left as it is") if len(there) == 1 else ("exist", "are left as they are")
        raise InputError(f"{' and '.join(there)} {verb} already and {pronoun}; choose another name.")
    for file, text in files.items():
        _write(file, text, "x")
    return list(files)


def write_missing(files: dict[Path, str]) -> tuple[list[Path], list[Path]]:
    """Write the files that are not there; return them, and those that are there and were left as they are."""
    left = [file for file in files if file.exists()]
    return write_new({file: text for file, text in files.items() if file not in left}), left


def name_module(module: str, settings: str) -> str:
    """Let pytest import a module in every run here; return a sentence about what was done, or has to be.

    `settings` is the text of the file that is written where pytest has no settings at all.
    """
    known = find_settings(Path.cwd())
    if known is None:
        _write(SETTINGS_FILE, settings, "x")
        return f"written: {SETTINGS_FILE} (axioms_import)"
    name = display_path(known.file)
    if module in known.modules:
        return f"left as it is: {name}, which imports {module} already"
    text = known.file.read_text(encoding="utf-8")
    if known.file.suffix != ".toml" and IMPORT.search(text):
        added = IMPORT.sub(lambda line: f"axioms_import = {f'{line[1]} {module}'.strip()}", text, count=1)
        _write(known.file, added, "w")
        return f"changed: {name} (axioms_import: {module} was added)"
    value = f'["{module}"]' if known.file.suffix == ".toml" else module
    return f"left as it is: {name}; add axioms_import = {value} to pytest's section, or give --axioms-import {module}"


def _write(file: Path, text: str, mode: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open(mode, encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise InputError(f"{display_path(file)} cannot be written: {error.strerror}.") from None
