"""A cluster, played by workers in this process: who takes what, and what a lost worker costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axioms.core.errors import AssetMissing, AxiomsError, ClusterError
from axioms.run import cluster, source
from axioms.run.address import Address
from axioms.run.cluster import LOSSES, Cluster
from axioms.run.queue import OPEN, Queue, Task
from axioms.run.remote import RemoteWorker, portable
from axioms.run.requests import measurement
from axioms.run.runner import Result, Runner
from axioms.run.setup import Setup
from axioms.spec import MethodRef, expand_file

Write = Callable[..., Path]
SPEC = """claim: c
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 9, length: 4}}}
run: {dtype: float64, batch_size: 2}
methods: [attnlrp, gradient_x_input]
checks:
  - {axiom: conservation, record: [ratio.mean]}
"""


class Gone(Exception):
    """What these hosts raise for an answer of a lost worker."""


class Call:
    """An answer that is computed when somebody waits for it."""

    def __init__(self, actor: Actor, method: str, arguments: tuple[Any, ...]) -> None:
        self.actor, self.method, self.arguments = actor, method, arguments


class Remote:
    """A method of an actor."""

    def __init__(self, actor: Actor, method: str) -> None:
        self._actor, self._method = actor, method

    def remote(self, *arguments: Any) -> Call:
        self._actor.asked.append(self._method)
        return Call(self._actor, self._method, arguments)


class Actor:
    """A worker in this process, which may die."""

    def __init__(self, setup: Setup, number: int) -> None:
        self.worker, self.number, self.is_dead = RemoteWorker(setup), number, False
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Remote:
        return Remote(self, name)


class FakeHosts:
    """Two workers, of which `dies` may kill one in the middle of a call."""

    LOST = (Gone,)
    address, workers = "fake:2", 2

    def __init__(self, dies: Callable[[Call], bool] = lambda call: False) -> None:
        self._dies, self._setup = dies, Setup(Path.cwd())
        self.actors: list[Actor] = []
        self.computed: list[tuple[int, int, str]] = []
        self._turn = 0

    def start_worker(self) -> Actor:
        self.actors.append(Actor(self._setup, len(self.actors) + 1))
        return self.actors[-1]

    def wait(self, refs: Sequence[Call], seconds: float) -> list[Call]:
        """One answer, of each worker in turn: an actor answers in the order in which it was asked."""
        self._turn += 1
        firsts = {ref.actor: ref for ref in reversed(refs)}
        actors = sorted(firsts, key=lambda actor: actor.number)
        return [firsts[actors[self._turn % len(actors)]]]

    def get(self, ref: Call) -> Any:
        ref.actor.is_dead = ref.actor.is_dead or self._dies(ref)
        if ref.actor.is_dead:
            raise Gone
        if ref.method == "compute":
            _, shard, request = ref.arguments
            self.computed.append((ref.actor.number, shard, request.method.name))
        return getattr(ref.actor.worker, ref.method)(*ref.arguments)

    def kill(self, actor: Actor) -> None:
        actor.is_dead = True

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SHARD", 2)


def run(file: Path, hosts: FakeHosts | None = None) -> tuple[list[Result], Any]:
    checks = expand_file(file).checks
    if hosts is None:
        runner = Runner(planned=checks)
    else:
        runner = Runner(planned=checks, start=lambda *given: Cluster(hosts, *given))  # type: ignore[arg-type]
    return [runner.run(check) for check in checks], runner.executor


def assert_same(file: Path, results: list[Result]) -> None:
    for mine, theirs in zip(run(file)[0], results, strict=True):
        assert mine.judgement == theirs.judgement
        for name, values in mine.measurement.values.items():
            np.testing.assert_array_equal(values, theirs.measurement.values[name])


def test_both_workers_compute_and_the_numbers_are_the_same(write_spec: Write) -> None:
    file, hosts = write_spec(SPEC), FakeHosts()
    results, executor = run(file, hosts)
    assert_same(file, results)
    assert {number for number, _, _ in hosts.computed} == {1, 2}
    assert sorted(shard for _, shard, _ in hosts.computed) == sorted([0, 1, 2, 3] * 2 + [0]), "and the accounts once"
    assert [worker.number for worker in executor.record.workers] == [1, 2]
    assert executor.record.lost == []


def test_who_has_nothing_to_do_loads_what_another_one_opens(write_spec: Write) -> None:
    hosts = FakeHosts()
    run(write_spec(SPEC), hosts)
    assert [actor.asked.count("open") for actor in hosts.actors] == [1, 1]


def test_a_lost_worker_costs_what_it_had_not_finished(write_spec: Write) -> None:
    deaths: list[Call] = []

    def dies(call: Call) -> bool:
        if call.method == "compute" and call.arguments[1] == 2 and call.arguments[2].method.name != "attnlrp":
            deaths.append(call)
            return len(deaths) == 1
        return False

    file, hosts = write_spec(SPEC), FakeHosts(dies)
    results, executor = run(file, hosts)
    assert_same(file, results)
    assert sorted(shard for _, shard, _ in hosts.computed) == sorted([0, 1, 2, 3] * 2 + [0]), "nothing twice"
    (loss,) = executor.record.lost
    assert (loss.worker, loss.task, loss.computed_again) == (deaths[0].actor.number, "mine 3", 1)
    assert len(hosts.actors) == 3, "another took its place"


def test_a_worker_that_is_lost_while_it_opens_a_subject_costs_nothing_else(write_spec: Write) -> None:
    lost: list[int] = []

    def dies(call: Call) -> bool:
        if call.method == "open" and not lost:
            lost.append(call.actor.number)
            return True
        return False

    file, hosts = write_spec(SPEC), FakeHosts(dies)
    results, executor = run(file, hosts)
    assert_same(file, results)
    assert [loss.worker for loss in executor.record.lost] == lost


def test_what_kills_every_worker_fails_and_the_rest_goes_on(write_spec: Write) -> None:
    def dies(call: Call) -> bool:
        return call.method == "compute" and call.arguments[2].method.name == "attnlrp" and call.arguments[1] == 1

    checks = expand_file(write_spec(SPEC)).checks
    hosts = FakeHosts(dies)
    runner = Runner(planned=checks, start=lambda *given: Cluster(hosts, *given))  # type: ignore[arg-type]
    for check in checks:
        assert check.method is not None
        if check.method.name == "attnlrp":
            with pytest.raises(AxiomsError, match=f"{LOSSES} workers were lost"):
                runner.run(check)
        else:
            runner.run(check)


def test_an_error_is_that_of_its_check_and_keeps_its_kind(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    file = write_spec(SPEC.replace("tiny: {architecture: bert}", "someone/nothing"))
    (check, _) = expand_file(file).checks
    runner = Runner(planned=[check], start=lambda *given: Cluster(FakeHosts(), *given))  # type: ignore[arg-type]
    with pytest.raises(AssetMissing, match="someone/nothing"):
        runner.run(check)


def test_what_was_not_planned_is_computed_as_well(write_spec: Write) -> None:
    checks = expand_file(write_spec(SPEC)).checks
    runner = Runner(planned=checks[:1], start=lambda *given: Cluster(FakeHosts(), *given))  # type: ignore[arg-type]
    for check in checks:
        assert runner.run(check).measurement.values["ratio"].shape == (9,)
    assert Runner(start=lambda *given: Cluster(FakeHosts(), *given)).run(checks[0]).judgement  # type: ignore[arg-type]


def test_no_worker_at_all_ends_the_run(write_spec: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", -1.0)
    (check, _) = expand_file(write_spec(SPEC)).checks
    hosts = FakeHosts(lambda call: call.method == "greet")
    runner = Runner(planned=[check], start=lambda *given: Cluster(hosts, *given))  # type: ignore[arg-type]
    with pytest.raises(ClusterError, match="no worker has been ready"):
        runner.run(check)


def test_the_queue_prefers_models_that_are_held_then_the_unknown_then_the_longest() -> None:
    method, queue = MethodRef.model_validate("loo"), Queue()
    address: Any = Address(None, None, Path("a.yaml"))  # type: ignore[arg-type]
    wanted = [(address, measurement("conservation", {}, method))]
    short, long, held, unknown = (
        Task(group, [address], 0, wanted * count)
        for group, count in (("short", 1), ("long", 3), ("held", 1), ("unknown", 1))
    )
    for task in (short, long, held, unknown):
        queue.add(task)
        if task is not unknown:
            queue.learn(task, float(len(task.wanted)))
    queue.learn(Task("unknown", [address], OPEN), 100.0)
    assert [queue.take(["held"]) for _ in range(5)] == [held, unknown, long, short, None]


def test_an_error_that_cannot_be_sent_is_told_in_words() -> None:
    class Strange(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__("two numbers")

    sent = portable(Strange(1, 2))
    assert isinstance(sent, RuntimeError)
    assert str(sent) == "Strange: two numbers"
    assert portable(AxiomsError("as it is")).args == ("as it is",)
