"""Writing files."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write through a temporary file, so that a reader never sees half of it; its folder is made if need be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")  # another run may write the same file
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, file)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def check_writable(folder: Path) -> None:
    """Raise the error of the system where a folder cannot be made or written to; nothing is left behind."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    with tempfile.TemporaryFile(dir=there):
        return
