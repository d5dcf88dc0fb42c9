"""The cases of a worker: its subjects, loaded once for all that is asked of them, and their shards."""

from __future__ import annotations

from typing import Any

from axioms.run.address import Address
from axioms.run.build import rewritten_subject
from axioms.run.case import Case, Report
from axioms.run.digests import descriptors, source_digest, surroundings
from axioms.run.memory import Key, Memory, digest_of, key_of
from axioms.run.models import Models
from axioms.run.requests import WHOLE
from axioms.run.source import Source, open_source


class Cases:
    """Loads subjects and builds their shards; memory holds the recent ones, and knows which cannot be had."""

    def __init__(self, report: Report) -> None:
        self._memory, self._report, self._models = Memory(), report, Models()

    def source(self, address: Address) -> Source:
        """Return the models and the data of a subject. Raises where its assets are missing."""
        plain = address.plain
        return self._memory.attempt(Key(plain.name, plain.name), lambda: self._open(plain))

    def digest(self, address: Address) -> str:
        """Return a digest of what is loaded for a subject, what its spec and fixtures say, and this process."""
        source = self.source(address)
        loaded = self._memory.recall(
            key_of(address.plain.name, "digest"),
            lambda: source_digest(source, address.plain.described, self._fixtures(address.plain)),
        )
        return digest_of([loaded, address.described, self._fixtures(address), surroundings()])

    def case(self, address: Address, shard: int) -> Case:
        """Return one shard of a subject. Raises where its assets are missing, or its rewrite does not apply."""
        name = owner_of(address, shard)
        return self._memory.attempt(Key(name, name), lambda: self._build(name, address, shard))

    def forget(self, address: Address, shard: int) -> None:
        """Let go of a shard, and of the shard of the plain model behind a pair."""
        for part in (address, address.plain):
            self._memory.forget(owner_of(part, shard))

    def rebuild(self) -> None:
        """Load all models anew for whatever is asked next: somebody's code has changed one."""
        self._memory.forget_all()
        self._models = Models()

    def _open(self, address: Address) -> Source:
        for fixture in self._fixtures(address):
            if fixture["asset"] is not None:
                self._memory.raise_failure(fixture["asset"])
        return open_source(address.subject, address.run, address.file, self._report, self._models)

    def _build(self, name: str, address: Address, shard: int) -> Case:
        source = self.source(address)
        if address.plain is address:
            bounds = (0, source.data.count) if shard == WHOLE else source.shards[shard]
            return Case(name, source.build(*bounds), source.data, address.run, self._memory, self._report)
        plain = self.case(address.plain, shard)
        pair = address.subject.pair
        assert pair is not None
        assert pair.rewrite is not None
        subject = rewritten_subject(plain.subject, pair.rewrite, address.run)
        return Case(name, subject, source.data, address.run, self._memory, self._report, plain)

    @staticmethod
    def _fixtures(address: Address) -> list[Any]:
        return descriptors(address.described, address.file)


def owner_of(address: Address, shard: int) -> str:
    """Return the name under which memory holds a shard."""
    return f"{address.name} {shard}"
