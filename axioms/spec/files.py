"""Which files are specs."""

from __future__ import annotations

import re
from pathlib import Path

KEYS = re.compile(r"^(?:\{\s*)?(claim|extends|subjects?|checks)\s*:", re.MULTILINE)
SUFFIXES = (".yaml", ".yml")


def is_spec(file: Path) -> bool:
    """Tell whether a YAML file is meant as a spec: it has a claim or a base, or else a subject and checks."""
    keys = set(KEYS.findall(file.read_text(encoding="utf-8", errors="replace")))
    return not keys.isdisjoint(("claim", "extends")) or len(keys) > 1


def specs_below(folder: Path) -> list[Path]:
    """Return the specs in a folder and the folders in it; `_*.yaml` are bases for `extends`, other YAML is none."""
    files = [file for suffix in SUFFIXES for file in folder.rglob(f"*{suffix}") if not file.name.startswith("_")]
    return sorted(file for file in files if file.is_file() and is_spec(file))
