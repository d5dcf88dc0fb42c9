"""Writing files."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write through a temporary file, so that a reader never sees half of it; its folder is made if need be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, file)
