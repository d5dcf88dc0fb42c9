"""Answers to requests, by subject and shard: in memory for this run, on disk for later ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from axioms.core.errors import ModelChanged
from axioms.core.values import Values
from axioms.run.address import Address, Opened
from axioms.run.cache import Cache
from axioms.run.memory import digest_of
from axioms.run.ours import is_ours
from axioms.run.requests import Request

Answer = Mapping[str, Values]
"""Arrays by name: metrics with one value per example, or JSON."""
NOTES = "_notes"
"""Beside the metrics, as JSON: sentences about how they were computed, where there is something to say."""


class Executor(Protocol):
    """Who computes: this process, or a cluster."""

    def open(self, address: Address) -> Opened:
        """Return what a subject is made of. Raises where it cannot be had."""

    def answers(self, address: Address, request: Request) -> list[Answer]:
        """Return the answer of each shard that the request is computed on. Raises what computing it raised."""


class Answers:
    """Answers by subject, shard and request, and the errors of requests that have none."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._values: dict[tuple[str, int, str], Answer] = {}
        self._failures: dict[tuple[str, str], Exception] = {}
        self._written: dict[str, list[str]] = {}
        """What this run has on disk, by plain subject."""
        self._distrusted: set[str] = set()
        """Plain subjects whose model somebody's code has changed."""

    def get(self, address: Address, opened: Opened, shard: int, request: Request) -> Answer | None:
        """Return an answer from memory or disk; None where it is to be computed."""
        place = (address.name, shard, request.name)
        if place not in self._values and request.is_kept and self._may_use(opened, request):
            read = self._cache.read(_digest(opened, shard, request))
            if read is not None:
                self._values[place] = read
        return self._values.get(place)

    def _may_use(self, opened: Opened, request: Request) -> bool:
        return self._cache.may_use(is_ours=opened.is_ours and is_ours(request))

    def put(self, address: Address, opened: Opened, shard: int, request: Request, answer: Answer) -> None:
        """Keep an answer; a run that is killed after this does not lose it."""
        self._values[address.name, shard, request.name] = answer
        subject = address.plain.name
        if request.is_kept and subject not in self._distrusted:
            digest = _digest(opened, shard, request)
            self._cache.write(digest, answer)
            self._written.setdefault(subject, []).append(digest)

    def distrust(self, address: Address) -> None:
        """Keep nothing of a subject for later runs, also not what this run has written: a method changed its model."""
        subject = address.plain.name
        self._distrusted.add(subject)
        for digest in self._written.pop(subject, []):
            self._cache.discard(digest)

    def fail(self, address: Address, request: Request, error: Exception) -> None:
        """Note that a request has no answer: it raised on one of the shards."""
        self._failures[address.name, request.name] = error
        if isinstance(error, ModelChanged):
            self.distrust(address)

    def failure(self, address: Address, request: Request) -> Exception | None:
        """Return what a request raised, if it did."""
        return self._failures.get((address.name, request.name))

    def of_all_shards(self, address: Address, opened: Opened, request: Request) -> list[Answer] | None:
        """Return the answers of all shards that the request is computed on, or raise what it raised.

        None where some are still to be computed.
        """
        error = self.failure(address, request)
        if error is not None:
            raise error
        answers = [self.get(address, opened, shard, request) for shard in request.shards(opened.shards)]
        there = [answer for answer in answers if answer is not None]
        return there if len(there) == len(answers) else None


def _digest(opened: Opened, shard: int, request: Request) -> str:
    return digest_of([opened.digest, opened.shards, shard, request.name])
