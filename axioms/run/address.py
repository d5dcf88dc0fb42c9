"""Where a worker finds a subject, and what it says of it when it has opened it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from axioms.run.memory import digest_of
from axioms.spec import Run, Subject


@dataclass(frozen=True, eq=False)
class Address:
    """What a spec says of a subject, the settings of the run, and the spec: fixtures and paths are sought beside it."""

    subject: Subject
    run: Run
    file: Path

    @cached_property
    def described(self) -> list[Any]:
        """The subject and the run as JSON."""
        return [self.subject.model_dump(mode="json"), self.run.model_dump()]

    @cached_property
    def name(self) -> str:
        """What tells subjects apart."""
        return digest_of(["", *self.described, str(self.file.parent)])

    @cached_property
    def plain(self) -> Address:
        """The model by itself of which a rewrite makes a pair; else this subject."""
        pair = self.subject.pair
        if pair is None or pair.rewrite is None:
            return self
        return replace(self, subject=self.subject.model_copy(update={"model": pair.model, "pair": None}))


@dataclass(frozen=True)
class Opened:
    """A subject that a worker has loaded."""

    digest: str
    """Of everything that its numbers depend on, but for the method and the code."""
    shards: int
    names: tuple[str, ...]
    """How a report names each example."""
    has_texts: bool
    has_images: bool
    is_ours: bool
    """Whether it is run by this package's code and that of the packages it names, and not by a user's."""
    warnings: tuple[str, ...] = ()
    """What the user should know about the model or its data."""
