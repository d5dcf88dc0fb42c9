"""Workers share what the machine has."""

from __future__ import annotations

import pytest
import torch

from axioms.core.workers import Worker, gpu_of, share_threads, this_worker


def test_eight_workers_are_spread_over_four_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert [gpu_of(Worker(number, 8)) for number in range(8)] == [f"cuda:{number % 4}" for number in range(8)]
    assert gpu_of(Worker(0, 1)) == "cuda", "one process leaves the choice to torch"


def test_a_worker_is_known_by_what_xdist_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    assert this_worker() == Worker(0, 1)
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw3")
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "8")
    assert this_worker() == Worker(3, 8)


@pytest.mark.parametrize(("threads", "count", "share"), [(8, 2, 4), (8, 1, 8), (2, 4, 1)])
def test_workers_take_no_more_threads_than_one_process(
    monkeypatch: pytest.MonkeyPatch, threads: int, count: int, share: int
) -> None:
    taken = [threads]
    monkeypatch.setattr(torch, "get_num_threads", lambda: taken[-1])
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    share_threads(Worker(0, count))
    assert taken[-1] == share
