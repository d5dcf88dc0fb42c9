"""The one cache of a run: values in memory while their subject is recent, and measurements on disk for later runs.

A key is a digest of everything that a value depends on (see `digests`), so a value that is there can be used: a run
that was killed and is started again measures only what it had not finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zipfile import BadZipFile

import numpy as np

from axioms.core.errors import AssetMissing, NotApplicable
from axioms.core.values import Values
from axioms.run.digests import code_digest

RECENT = 8
"""Subjects whose values stay in memory; models are large."""
GENERATIONS = 3
"""States of the code whose measurements stay on disk; older ones are deleted."""

Value = TypeVar("Value")


class Key(NamedTuple):
    """What a value is looked up by."""

    subject: str
    """The subject that the value is forgotten with."""
    digest: str


def key_of(subject: str, *what: Any) -> Key:
    """Return the key of a value that belongs to a subject and depends on `what`."""
    text = json.dumps(what, sort_keys=True, default=str)
    return Key(subject, hashlib.sha256(text.encode()).hexdigest())


class Cache:
    """Values by key: first in memory, then, if they are measurements, on disk."""

    def __init__(self, folder: Path | None = None) -> None:
        """Keep measurements in `folder`; without one, in memory only."""
        self._folder = folder
        self._memory: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._failures: dict[str, AssetMissing | NotApplicable] = {}
        self.reused, self.measured = 0, 0
        """How many measurements were read from the disk, and how many were made and written to it."""

    def recall(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Return the value under the key; compute it where memory does not have it."""
        values = self._of_subject(key.subject)
        if key.digest not in values:
            values[key.digest] = compute()
        value: Value = values[key.digest]
        return value

    def recall_measured(self, key: Key, compute: Callable[[], Mapping[str, Values]]) -> Mapping[str, Values]:
        """Return the arrays under the key; measure them where neither memory nor disk has them."""
        return self.recall(key, lambda: self._read_or_measure(key, compute))

    def attempt(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Recall a value that may be impossible to make: after a failed attempt, raise its error and make no second."""
        self.raise_failure(key.digest)
        try:
            return self.recall(key, compute)
        except AssetMissing as error:
            self._failures[error.asset or key.digest] = error.with_traceback(None)
            raise
        except NotApplicable as error:
            self._failures[key.digest] = error.with_traceback(None)
            raise

    def raise_failure(self, name: str) -> None:
        """Raise the error of a failed attempt, if there is one under this key or asset.

        An asset that is missing for one subject is missing for all, and each attempt would wait for the network again.
        """
        if name in self._failures:
            raise self._failures[name]

    def _of_subject(self, subject: str) -> dict[str, Any]:
        """Return the values of a subject, which is now the most recent one."""
        values = self._memory.setdefault(subject, {})
        self._memory.move_to_end(subject)
        while len(self._memory) > RECENT:
            self._memory.popitem(last=False)
        return values

    def _read_or_measure(self, key: Key, compute: Callable[[], Mapping[str, Values]]) -> Mapping[str, Values]:
        if self._folder is None:
            return compute()
        file = self._folder / code_digest()[:16] / f"{key.digest}.npz"
        arrays = _read(file)
        if arrays is not None:
            self.reused += 1
            return arrays
        measured = compute()
        self.measured += self._write(file, measured)
        return measured

    def _write(self, file: Path, values: Mapping[str, Values]) -> bool:
        """Write a file, whole or not at all, and tell whether that succeeded; a full disk is no reason to stop."""
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
