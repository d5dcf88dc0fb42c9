"""The one module that knows Ray: connecting, starting workers, waiting for what they return."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from axioms.core.errors import ClusterError
from axioms.run.remote import RemoteWorker
from axioms.run.setup import Setup

OPTION = "--axioms-cluster"
LOCAL = "local:"
STORE = 256 * 2**20
"""Bytes of memory that a local Ray sets aside for what is sent: answers are small."""
LEFT_OUT = [".git", "reports", ".venv", "venv", "build", "dist", "node_modules", "**/__pycache__", ".*_cache"]
"""What of the session's folder is not sent to workers on other machines; nor is what .gitignore names."""


class Hosts:
    """The workers of a cluster that this session is connected to."""

    LOST: tuple[type[Exception], ...]
    """What is raised in the place of an answer when the worker's process or node is gone."""

    def __init__(self, address: str, setup: Setup) -> None:
        """Connect to `auto` or `ray://host:port`, or start `local:N` workers on this machine."""
        self.address = address
        count = _local_count(address)
        self._ray = ray = _import_ray()
        self.LOST = (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError)
        resources = _start(ray, count) if count else _connect(ray, address, setup)
        gpus, cpus = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
        self.workers = count or gpus or cpus
        if count and not gpus:
            setup = replace(setup, threads=max(1, setup.threads // count))
        else:
            setup = replace(setup, threads=1)
        needed = {"num_cpus": 1, "num_gpus": min(1, gpus / self.workers)}
        self._actor = ray.remote(RemoteWorker).options(**needed, max_restarts=0, max_task_retries=0)
        self._setup = setup

    def start_worker(self) -> Any:
        """Ask for a worker; it starts where there is room, when there is."""
        return self._actor.remote(self._setup)

    def wait(self, refs: Sequence[Any], seconds: float) -> list[Any]:
        """Return those of the answers that are there; wait so long for the first."""
        first, rest = self._ray.wait(refs, num_returns=1, timeout=seconds)
        more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0) if first and rest else ([], [])
        return [*first, *more]

    def get(self, ref: Any) -> Any:
        """Return an answer that is there."""
        return self._ray.get(ref)

    def kill(self, actor: Any) -> None:
        """End what may be left of a worker, so that it holds nothing."""
        with suppress(Exception):  # whatever Ray says of a worker that is gone
            self._ray.kill(actor)

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        self._ray.shutdown()


def check_address(address: str) -> None:
    """Raise, in one sentence, where the option cannot mean a cluster or Ray is not installed."""
    if address != "auto" and not address.startswith("ray://"):
        _local_count(address, must_be=True)
    _import_ray()


def _local_count(address: str, must_be: bool = False) -> int:
    """Return N of `local:N`; 0 of another address."""
    number = address.removeprefix(LOCAL)
    if address.startswith(LOCAL) and number.isdecimal() and int(number) > 0:
        return int(number)
    if must_be or address.startswith(LOCAL):
        raise ClusterError(f"{OPTION} {address}: use local:N with N workers, auto, or ray://host:port.")
    return 0


def _import_ray() -> Any:
    # Set before Ray is imported, which is when it looks.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ClusterError(f"{OPTION} needs Ray: pip install 'pytest-axioms[cluster]'.") from None
    return ray


def _start(ray: Any, count: int) -> dict[str, float]:
    import torch

    ray.init(
        num_cpus=count,
        num_gpus=torch.cuda.device_count(),
        object_store_memory=STORE,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    resources: dict[str, float] = ray.cluster_resources()
    return resources


def _connect(ray: Any, address: str, setup: Setup) -> dict[str, float]:
    environment = {"working_dir": str(setup.folder), "excludes": LEFT_OUT}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say of a connection that fails is in the error
            ray.init(address=address, runtime_env=environment, log_to_driver=False, logging_level="ERROR")
        resources: dict[str, float] = ray.cluster_resources()
    except (ConnectionError, TimeoutError, ValueError, RuntimeError, ImportError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ClusterError(f"{OPTION} {address}: cannot connect: {first}. Is it running? `ray status` says.") from None
    return resources
