"""What a worker holds while it may be needed again: recent subjects, their shards and attributions."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from axioms.core.errors import AssetMissing, NotApplicable

RECENT = 10
"""Subjects and shards whose values stay in memory; models are large."""
ALWAYS = ""
"""The owner of values that are never forgotten."""

Value = TypeVar("Value")


class Key(NamedTuple):
    """What a value is looked up by."""

    owner: str
    """The subject or shard that the value is forgotten with."""
    digest: str


def key_of(owner: str, *what: Any) -> Key:
    """Return the key of a value that belongs to a subject or shard and depends on `what`."""
    return Key(owner, digest_of(what))


def digest_of(what: Any) -> str:
    """Return a digest of anything that JSON or `str` can write."""
    return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()


class Memory:
    """Values by key, those of the recent owners."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._always: dict[str, Any] = {}
        self._failures: dict[str, AssetMissing | NotApplicable] = {}

    def recall(self, key: Key, compute: Callable[[], Value]) -> Value:
        """Return the value under the key; compute it where memory does not have it."""
        values = self._of_owner(key.owner)
        if key.digest not in values:
            values[key.digest] = compute()
        value: Value = values[key.digest]
        return value

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

    def forget(self, owner: str) -> None:
        """Let go of everything that belongs to a subject or shard."""
        self._values.pop(owner, None)

    def forget_all(self) -> None:
        """Let go of everything that may be made anew."""
        self._values.clear()
        self._always.clear()

    def _of_owner(self, owner: str) -> dict[str, Any]:
        """Return the values of an owner, which is now the most recent one."""
        if owner == ALWAYS:
            return self._always
        values = self._values.setdefault(owner, {})
        self._values.move_to_end(owner)
        while len(self._values) > RECENT:
            self._values.popitem(last=False)
        return values
