"""Which shard a worker takes next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf

from axioms.run.address import Address
from axioms.run.requests import Request

OPEN = -2
"""In the place of the number of a shard: the subjects are to be opened, which tells how many shards there are."""


@dataclass(eq=False)
class Task:
    """One shard of some subjects that share their plain model and data, and what is asked of it."""

    group: str
    """The name of the plain subject."""
    addresses: list[Address]
    shard: int
    wanted: list[tuple[Address, Request]] = field(default_factory=list)
    losses: int = 0
    """Workers that were lost with it."""

    @property
    def title(self) -> str:
        """What progress and records call it."""
        shard = "" if self.shard < 0 else f" {self.shard + 1}"
        return f"{self.addresses[0].file.stem}{shard}"


class Queue:
    """Tasks: first those of models that a worker holds already, then the longest.

    How long a shard takes is known from those of the same subjects that are done. What nobody has tried yet comes
    before all that is known, since it may be the longest.
    """

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._seconds: dict[str, float] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """What nobody has taken yet."""
        return self._tasks

    def add(self, task: Task) -> None:
        """Put a task into the queue."""
        self._tasks.append(task)

    def take(self, held: Collection[str]) -> Task | None:
        """Take the next task for a worker that holds the models of these groups; None where there is none."""
        if not self._tasks:
            return None
        task = min(self._tasks, key=lambda task: (task.group not in held, -self._length(task)))
        self._tasks.remove(task)
        return task

    def learn(self, task: Task, seconds: float) -> None:
        """Hear how long a task took."""
        if task.shard != OPEN and task.wanted:
            self._seconds[task.group] = seconds / len(task.wanted)

    def _length(self, task: Task) -> float:
        """Return how long a task takes, as far as that is known."""
        return self._seconds[task.group] * len(task.wanted) if task.group in self._seconds else inf
