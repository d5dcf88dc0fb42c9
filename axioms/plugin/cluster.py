"""`--axioms-cluster`: the checks of a session computed by the workers of a cluster."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from axioms.core.errors import ClusterError
from axioms.plugin.options import is_worker

if TYPE_CHECKING:
    from axioms.record import ClusterRecord
    from axioms.run.answers import Answers, Executor
    from axioms.run.case import Report
    from axioms.run.cluster import Cluster
    from axioms.run.plan import Plan
    from axioms.run.runner import Start
    from axioms.run.setup import Setup

CLUSTER: pytest.StashKey[Cluster] = pytest.StashKey()
OPTION = "--axioms-cluster"
OURS = "AXIOMS_"
"""What the variables begin with that workers must know of, but for the folder of the cache, which is this machine's."""


def check_cluster(config: pytest.Config) -> None:
    """Raise, in one sentence, where a session cannot use the cluster that it names."""
    address: str | None = config.getoption(OPTION)
    if address is None:
        return
    if is_worker(config) or config.getoption("numprocesses", None):
        raise pytest.UsageError(f"{OPTION} and xdist's -n both deal out the work: use one of them.")
    from axioms.run.ray_cluster import check_address

    try:
        check_address(address)
    except ClusterError as error:
        raise pytest.UsageError(str(error)) from None


def start_of(config: pytest.Config) -> Start:
    """Return what makes who computes: this process, or the cluster that the command line names."""
    from axioms.run.runner import in_this_process

    address: str | None = config.getoption(OPTION)
    if address is None:
        return in_this_process

    def start(answers: Answers, plan: Plan, report: Report) -> Executor:
        from axioms.run.cluster import connect

        try:
            config.stash[CLUSTER] = cluster = connect(address, _setup(config), answers, plan, report)
        except ClusterError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
        config.add_cleanup(cluster.close)
        return cluster

    return start


def cluster_record(config: pytest.Config) -> ClusterRecord | None:
    """Return who computed and who was lost; None where this process computed."""
    return config.stash[CLUSTER].record if CLUSTER in config.stash else None


def cluster_line(record: ClusterRecord) -> str:
    """Return the same for the end of the terminal output."""
    line = f"{record.address}: {len(record.workers)} workers"
    if record.lost:
        again = sum(loss.computed_again for loss in record.lost)
        tasks = ", ".join(dict.fromkeys(loss.task for loss in record.lost))
        line += f"; {len(record.lost)} lost ({tasks}), {again} measurements computed again"
    return line


def _setup(config: pytest.Config) -> Setup:
    import torch

    from axioms.run.setup import Setup, loaded_conftests

    ours = {name: value for name, value in os.environ.items() if name.startswith(OURS) and name != "AXIOMS_CACHE"}
    return Setup(
        folder=config.invocation_params.dir,
        modules=(*config.getini("axioms_import"), *config.getoption("--axioms-import")),
        conftests=loaded_conftests(),
        path=tuple(sys.path),
        threads=torch.get_num_threads(),
        environment=ours,
    )
