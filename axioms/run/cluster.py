"""Computing on Ray: the shards of all subjects are dealt out to workers, and what a lost worker leaves is dealt again.

The session asks for answers as if this process computed them. While it waits, finished shards come in from all workers,
in whatever order, and are kept at once.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from axioms.core.errors import AxiomsError, ClusterError, SubjectWarning
from axioms.record import ClusterRecord, LossRecord, WorkerRecord
from axioms.run.address import Address, Opened
from axioms.run.answers import Answer, Answers
from axioms.run.case import Report
from axioms.run.plan import Plan
from axioms.run.queue import OPEN, Queue, Task
from axioms.run.ray_cluster import Hosts
from axioms.run.remote import Greeting
from axioms.run.requests import Request
from axioms.run.setup import Setup, package_digest

LOSSES = 3
"""Workers that a request may cost before it is taken to be what kills them."""
PATIENCE = 180.0
"""Seconds without any worker that is ready, after which the run gives up."""
TICK = 1.0
"""Seconds between two lines of progress while nothing comes in."""


@dataclass(eq=False)
class Member:
    """A worker, from the moment it was asked for."""

    number: int
    actor: Any
    greeting: Greeting | None = None
    """None until it is ready."""
    task: Task | None = None
    pending: dict[Any, tuple[Address, Request] | None] = field(default_factory=dict)
    """What it was asked and has not answered: None for its greeting, and for opening."""
    started: float = 0.0
    held: deque[str] = field(default_factory=lambda: deque(maxlen=4))
    """Groups whose models it has loaded lately."""


class Cluster:
    """Answers requests by the workers of a cluster."""

    def __init__(self, hosts: Hosts, answers: Answers, plan: Plan, report: Report) -> None:
        self._hosts, self._answers, self._plan, self._report = hosts, answers, plan, report
        self._opened: dict[str, Opened | Exception] = {}
        self._queue, self._members, self._numbers = Queue(), list[Member](), 0
        self._dealt: set[tuple[str, str]] = set()
        """Subjects and requests that were put into the queue."""
        self._package = package_digest()
        self._done, self._last_ready = 0, time.monotonic()
        self._workers: list[WorkerRecord] = []
        self._lost: list[LossRecord] = []
        for group in plan.groups:
            self._queue.add(Task(group, plan.addresses(group), OPEN))
        for _ in range(hosts.workers):
            self._hire()

    def open(self, address: Address) -> Opened:
        """Return what a subject is made of. Raises where it cannot be had."""
        if address.name not in self._opened and not self._is_planned(address):
            self._queue.add(Task(address.plain.name, [address], OPEN))
        while address.name not in self._opened:
            self._turn()
        opened = self._opened[address.name]
        if isinstance(opened, Exception):
            raise opened
        return opened

    def answers(self, address: Address, request: Request) -> list[Answer]:
        """Return the answer of each shard that the request is computed on. Raises what computing it raised."""
        opened = self.open(address)
        answers = self._answers.of_all_shards(address, opened, request)
        if answers is None and (address.name, request.name) not in self._dealt:
            self._deal([address], {address.name: [request]})
        while answers is None:
            self._turn()
            answers = self._answers.of_all_shards(address, opened, request)
        return answers

    @property
    def record(self) -> ClusterRecord:
        """Who computed, and who was lost."""
        workers = sorted(self._workers, key=lambda worker: worker.number)
        return ClusterRecord(address=self._hosts.address, workers=workers, lost=self._lost)

    def close(self) -> None:
        """Let go of all workers."""
        self._hosts.close()

    def _is_planned(self, address: Address) -> bool:
        tasks = [*self._queue.tasks, *(member.task for member in self._members if member.task is not None)]
        return any(task.shard == OPEN and address.name in (other.name for other in task.addresses) for task in tasks)

    def _deal(self, addresses: list[Address], requests: dict[str, list[Request]]) -> None:
        """Put into the queue what is asked of some subjects and not known, a task for each shard."""
        tasks: dict[int, Task] = {}
        for address in addresses:
            opened = self._opened[address.name]
            if isinstance(opened, Exception):
                continue
            for request in requests[address.name]:
                self._dealt.add((address.name, request.name))
                for shard in request.shards(opened.shards):
                    if self._answers.get(address, opened, shard, request) is None:
                        task = tasks.setdefault(shard, Task(address.plain.name, addresses, shard))
                        task.wanted.append((address, request))
        for task in tasks.values():
            self._queue.add(task)

    def _turn(self) -> None:
        """Give work to whoever has none, wait a moment for what comes in, and take it."""
        self._assign()
        pending = {ref: member for member in self._members for ref in member.pending}
        lost: dict[int, Member] = {}
        for ref in self._hosts.wait(list(pending), TICK):
            try:
                value = self._hosts.get(ref)
            except self._hosts.LOST:
                lost[pending[ref].number] = pending[ref]
            else:
                self._receive(pending[ref], ref, value)
        for member in lost.values():  # when all that they had finished is there
            self._lose(member)
        self._show()
        if any(member.greeting is not None for member in self._members):
            self._last_ready = time.monotonic()
        elif time.monotonic() - self._last_ready > PATIENCE:
            raise ClusterError(
                f"--axioms-cluster {self._hosts.address}: no worker has been ready for {PATIENCE:.0f} seconds; look at "
                "`ray status` for nodes that are down or resources that others hold. Finished shards are kept."
            )

    def _hire(self) -> None:
        self._numbers += 1
        member = Member(self._numbers, self._hosts.start_worker())
        member.pending[member.actor.greet.remote()] = None
        self._members.append(member)

    def _assign(self) -> None:
        for member in self._members:
            while member.greeting is not None and member.task is None and self._queue.tasks:
                task = self._queue.take(member.held)
                assert task is not None
                member.task, member.started = task, time.monotonic()
                member.held.append(task.group)
                if task.shard == OPEN:
                    member.pending[member.actor.open.remote(task.addresses)] = None
                for address, request in task.wanted:
                    member.pending[member.actor.compute.remote(address, task.shard, request)] = (address, request)
        self._warm_up()

    def _warm_up(self) -> None:
        """Let a worker that has nothing to do load what another one is opening: it will get shards of it."""
        opening = [task for member in self._members if (task := member.task) is not None and task.shard == OPEN]
        for member in self._members:
            is_idle = member.greeting is not None and member.task is None
            if is_idle and opening and opening[0].group not in member.held:
                member.held.append(opening[0].group)
                member.actor.open.remote(opening[0].addresses)

    def _receive(self, member: Member, ref: Any, value: Any) -> None:
        asked = member.pending.pop(ref)
        if member.task is None:
            self._welcome(member, value)
        elif asked is None:
            self._take_opened(member.task, value)
        else:
            self._take_answer(member.task, *asked, value)
        if member.task is not None and not member.pending:
            self._queue.learn(member.task, time.monotonic() - member.started)
            if member.task.shard != OPEN:
                member.actor.forget.remote(member.task.addresses, member.task.shard)
            member.task = None

    def _welcome(self, member: Member, greeting: Greeting | Exception) -> None:
        if isinstance(greeting, Exception):
            raise ClusterError(f"--axioms-cluster: a worker cannot load your code: {greeting}") from greeting
        if greeting.package != self._package:
            raise ClusterError(
                f"--axioms-cluster: the worker on {greeting.host} has another version of pytest-axioms than this "
                "session; install the same on every node."
            )
        member.greeting = greeting
        fields = {"host": greeting.host, "device": greeting.device, "threads": greeting.threads}
        self._workers.append(WorkerRecord(number=member.number, **fields))

    def _take_opened(self, task: Task, opened: Iterable[Opened | Exception]) -> None:
        for address, subject in zip(task.addresses, opened, strict=True):
            self._opened[address.name] = subject
            for said in () if isinstance(subject, Exception) else subject.warnings:
                warnings.warn(said, SubjectWarning, stacklevel=2)
        there = [(address, self._opened[address.name]) for address in task.addresses]
        requests = {a.name: self._plan.requests(a, o) for a, o in there if not isinstance(o, Exception)}
        self._deal(task.addresses, requests)

    def _take_answer(self, task: Task, address: Address, request: Request, value: Answer | Exception) -> None:
        opened = self._opened[address.name]
        assert not isinstance(opened, Exception)
        self._done += 1
        if isinstance(value, Exception):
            self._answers.fail(address, request, value)
        else:  # a copy, because what Ray gives is a view of its own memory
            self._answers.put(address, opened, task.shard, request, copy.deepcopy(value))

    def _lose(self, member: Member) -> None:
        """Put back what a lost worker had not finished, and ask for another in its place."""
        self._members.remove(member)
        self._hosts.kill(member.actor)
        task, host = member.task, "" if member.greeting is None else member.greeting.host
        if task is not None:
            task.losses += 1
            task.wanted = [asked for asked in member.pending.values() if asked is not None]
            again = len(task.wanted)
            self._lost.append(LossRecord(worker=member.number, host=host, task=task.title, computed_again=again))
            if task.losses >= LOSSES:
                self._blame(task)
            if task.shard == OPEN or task.wanted:
                self._queue.add(task)
        self._hire()

    def _blame(self, task: Task) -> None:
        """Take out of a task what its workers died of: they answer in order, so it is the first of what is left."""
        task.losses = 0
        said = f"{LOSSES} workers were lost while they computed this, one after the other; is there enough memory?"
        if task.shard == OPEN:
            raise ClusterError(f"{task.title}: {said}")
        address, request = task.wanted.pop(0)
        self._answers.fail(address, request, AxiomsError(said))

    def _show(self) -> None:
        """Report what every worker is doing."""
        asked = sum(len(member.pending) for member in self._members)
        waiting = sum(len(task.wanted) or 1 for task in self._queue.tasks)
        doing = [f"{member.number}: {member.task.title}" for member in self._members if member.task is not None]
        ready = sum(member.greeting is not None for member in self._members)
        what = f"{ready} of {self._hosts.workers} workers ({', '.join(doing) or 'starting'})"
        self._report(what, self._done, self._done + asked + waiting)


def connect(address: str, setup: Setup, answers: Answers, plan: Plan, report: Report) -> Cluster:
    """Return the cluster at an address of the command line. Raises a `ClusterError` where there is none."""
    return Cluster(Hosts(address, setup), answers, plan, report)
