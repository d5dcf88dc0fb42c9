"""Measurements on disk, shard by shard, for later runs.

A key is a digest of everything that a value depends on (see `digests`), so a value that is there can be used: a run
that was killed and is started again measures only the shards that it had not finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from axioms.core.values import Values
from axioms.run.digests import code_digest

GENERATIONS = 3
"""States of the code whose measurements stay on disk; older ones are deleted."""


class Cache:
    """Arrays by digest, each in a file of its own."""

    def __init__(self, folder: Path | None = None) -> None:
        """Keep the files in `folder`; without one, keep nothing."""
        self._folder = folder
        self.reused, self.measured = 0, 0
        """How many measurements were read from the disk, and how many were made and written to it."""

    def read(self, digest: str) -> dict[str, Values] | None:
        """Return the arrays under the digest; None where there are none, or their file is damaged."""
        arrays = None if self._folder is None else _read(self._file(digest))
        self.reused += arrays is not None
        return arrays

    def write(self, digest: str, values: Mapping[str, Values]) -> None:
        """Keep arrays under the digest, whole or not at all; a full disk is no reason to stop."""
        if self._folder is not None:
            self.measured += _write(self._file(digest), values)

    def _file(self, digest: str) -> Path:
        assert self._folder is not None
        return self._folder / code_digest()[:16] / f"{digest}.npz"


def _write(file: Path, values: Mapping[str, Values]) -> bool:
    """Write a file, and tell whether that succeeded."""
    arrays: dict[str, Any] = {"names": np.array(json.dumps(list(values)))}
    for number, value in enumerate(values.values()):
        arrays[f"v{number}"], arrays[f"m{number}"] = np.ma.getdata(value), np.ma.getmask(value)
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True)
            _delete_old(file.parent.parent)
        with part.open("wb") as handle:
            np.savez(handle, **arrays)
        part.replace(file)
    except OSError:
        return False
    return True


def _read(file: Path) -> dict[str, Values] | None:
    """Return the arrays of a file; None where there is none, or it is damaged."""
    try:
        # Opened here: numpy leaves a damaged file open.
        with file.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            names = json.loads(str(arrays["names"]))
            return {name: _masked(arrays[f"v{number}"], arrays[f"m{number}"]) for number, name in enumerate(names)}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _masked(values: Any, mask: Any) -> Values:
    return np.ma.masked_array(values, mask) if mask.shape else values


def _delete_old(folder: Path) -> None:
    generations = sorted(folder.iterdir(), key=lambda generation: generation.stat().st_mtime)
    for generation in generations[:-GENERATIONS]:
        for file in generation.iterdir():
            file.unlink(missing_ok=True)
        generation.rmdir()
