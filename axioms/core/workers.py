"""Workers: several processes of one run share the machine's cores and GPUs."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Worker:
    """This process among those of a run; the only one is worker 0 of 1."""

    number: int
    count: int


def this_worker() -> Worker:
    """Return which of xdist's workers this process is."""
    name, count = os.environ.get("PYTEST_XDIST_WORKER", ""), os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    return Worker(int(name.removeprefix("gw") or 0), max(int(count), 1))


def gpu_of(worker: Worker) -> str:
    """Return the worker's device: workers are dealt out over the GPUs."""
    import torch

    return f"cuda:{worker.number % max(torch.cuda.device_count(), 1)}" if worker.count > 1 else "cuda"


def share_threads(worker: Worker) -> None:
    """Take this worker's part of the threads; together they take no more than one process would."""
    import torch

    if worker.count > 1:
        torch.set_num_threads(max(1, torch.get_num_threads() // worker.count))
