"""What pytest's settings say of one's own code, for commands that run without pytest."""

from __future__ import annotations

import shlex
import tomllib
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axioms.core.errors import InputError, display_path

SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
"""The section of pytest's settings in each file that may have one; pyproject.toml has two names for it."""
NAMES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""In the order in which pytest looks at them, folder by folder from here upwards."""


@dataclass(frozen=True)
class Settings:
    """The settings of a file, as far as they are about one's own code."""

    file: Path
    modules: tuple[str, ...]
    """What `axioms_import` names."""
    folders: tuple[Path, ...]
    """Where modules are found: the file's own folder, and what `pythonpath` names."""


def find_settings(folder: Path) -> Settings | None:
    """Return the settings that pytest would use in a folder; None where there are none."""
    for parent in (folder, *folder.parents):
        for name in NAMES:
            section = _section(parent / name) if (parent / name).is_file() else None
            if section is not None:
                beside = [parent / path for path in _words(section.get("pythonpath"))]
                return Settings(parent / name, tuple(_words(section.get("axioms_import"))), (parent, *beside))
    return None


def _section(file: Path) -> dict[str, Any] | None:
    """Return pytest's section of a file; None where the file has none and is not pytest's own."""
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".toml":
            tool = tomllib.loads(text).get("tool", {}).get("pytest")
            return None if tool is None else tool.get("ini_options", tool)
        parser = ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, Error) as error:
        raise InputError(f"{display_path(file)} cannot be read: {' '.join(str(error).split())}.") from None
    if parser.has_section(SECTIONS[file.name]):
        return dict(parser[SECTIONS[file.name]])
    return {} if file.name.endswith("pytest.ini") else None


def _words(value: Any) -> list[str]:
    """Return a setting that is a list, or words with spaces or lines between them."""
    return [str(word) for word in value] if isinstance(value, list) else shlex.split(value or "", comments=True)
