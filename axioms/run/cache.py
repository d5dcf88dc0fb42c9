"""Measurements on disk, shard by shard, for later runs.

A key is a digest of everything that a value of this package's own code depends on (see `digests`), so a value that is
there can be used: a run that was killed and is started again measures only the shards that it had not finished. Each
file begins with its key and a digest of what follows, so that a damaged or misplaced one is never used.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np

from axioms.core.values import Values
from axioms.run.digests import code_digest

GENERATIONS = 3
"""States of the code whose measurements stay on disk; older ones are deleted."""
SUFFIX = ".measured"
Reuse = Literal["nothing", "ours", "all"]
"""What of an earlier run may be used: what other people's code computed may depend on what no digest covers."""


class Cache:
    """Arrays by digest, each in a file of its own."""

    def __init__(self, folder: Path | None = None, reuse: Reuse = "ours") -> None:
        """Keep the files in `folder`; without one, keep nothing. What is measured is kept whatever `reuse` says."""
        self._folder, self._reuse = folder, reuse
        self.reused, self.measured = 0, 0
        """How many measurements were read from the disk, and how many were made and written to it."""

    def may_use(self, *, is_ours: bool) -> bool:
        """Tell whether this run may use what an earlier one measured, by this package's code alone or by others'."""
        return self._reuse == "all" or (self._reuse == "ours" and is_ours)

    def read(self, digest: str) -> dict[str, Values] | None:
        """Return the arrays under the digest; None where there are none, or their file is damaged or another's."""
        arrays = None if self._folder is None else _read(self._file(digest), _key(digest))
        self.reused += arrays is not None
        return arrays

    def write(self, digest: str, values: Mapping[str, Values]) -> None:
        """Keep arrays under the digest, whole or not at all; a full disk is no reason to stop."""
        if self._folder is not None:
            self.measured += _write(self._file(digest), _key(digest), values)

    def discard(self, digest: str) -> None:
        """Delete what was kept under a digest."""
        if self._folder is not None:
            _remove(self._file(digest))

    def _file(self, digest: str) -> Path:
        assert self._folder is not None
        return self._folder / code_digest()[:16] / f"{digest}{SUFFIX}"


def _key(digest: str) -> str:
    return f"{code_digest()} {digest}"


def _write(file: Path, key: str, values: Mapping[str, Values]) -> bool:
    """Write a file, and tell whether that succeeded."""
    arrays: dict[str, Any] = {"names": np.array(json.dumps(list(values)))}
    for number, value in enumerate(values.values()):
        arrays[f"v{number}"], arrays[f"m{number}"] = np.ma.getdata(value), np.ma.getmask(value)
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    content = packed.getvalue()
    part = file.with_suffix(f".{secrets.token_hex(8)}.part")  # another run may write the same file
    try:
        if not file.parent.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
            _delete_old(file.parent.parent)
        part.write_bytes(_seal(key, content) + content)
        part.replace(file)
    except OSError:
        _remove(part)
        return False
    return True


def _read(file: Path, key: str) -> dict[str, Values] | None:
    """Return the arrays of a file; None where there is none, or it is damaged, or was written under another key."""
    try:
        seal, _, content = file.read_bytes().partition(b"\n")
        if seal + b"\n" != _seal(key, content):
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            names = json.loads(str(arrays["names"]))
            return {name: _masked(arrays[f"v{number}"], arrays[f"m{number}"]) for number, name in enumerate(names)}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _seal(key: str, content: bytes) -> bytes:
    """Return the line that a file begins with."""
    return f"{key} {hashlib.sha256(key.encode() + content).hexdigest()}\n".encode()


def _masked(values: Any, mask: Any) -> Values:
    return np.ma.masked_array(values, mask) if mask.shape else values


def _remove(file: Path) -> None:
    """Delete a file, where that can be done."""
    try:
        file.unlink(missing_ok=True)
    except OSError:
        return


def _delete_old(folder: Path) -> None:
    """Delete all generations but the latest; another run may be doing the same."""
    generations = sorted(folder.iterdir(), key=_last_change)
    for generation in generations[:-GENERATIONS]:
        shutil.rmtree(generation, ignore_errors=True)


def _last_change(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
