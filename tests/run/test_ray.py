"""Real clusters: the same record as without one, whatever becomes of workers and nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="pip install 'pytest-axioms[cluster]'")

SLOW = "it starts clusters, which takes minutes: AXIOMS_CLUSTER=1 pytest tests/run/test_ray.py"
slow = pytest.mark.skipif("AXIOMS_CLUSTER" not in os.environ, reason=SLOW)

SPEC = """claim: c
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 260, length: 4}}}
run: {dtype: float64, batch_size: 32}
methods: [gradient_x_input, mine]
checks:
  - {axiom: conservation, record: [ratio.mean]}
  - {axiom: batch_invariance}
"""
KNOWN = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
run: {dtype: float64}
methods: [loo]
checks: [{axiom: conservation}]
"""
MINE = """
import os, signal, time
from pathlib import Path
import axioms, torch

@axioms.method("mine", passes=1)
def mine(model, inputs, target):
    "Gradient times input; on a cluster, the worker that first gets past the first shard meets its fate."
    fate = Path(__file__).with_name("fate.txt")
    if inputs.first >= 64 and fate.exists() and "RAY_RAYLET_PID" in os.environ:
        meet(fate)
    features = inputs.features.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(target(model(inputs.with_features(features))).sum(), features)
    return features * gradient


def meet(fate):
    import ray

    what, node = fate.read_text(), ray.get_runtime_context().get_node_id()
    heads = [each["NodeID"] for each in ray.nodes() if "node:__internal_head__" in each["Resources"]]
    if what == "lose the node" and node in heads:
        return  # without its head there is no cluster
    fate.rename(fate.with_suffix(".done"))
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    fate.with_suffix(".node").write_text(node)
    time.sleep(300)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "many.yaml").write_text(SPEC)
    (tmp_path / "specs" / "known.yaml").write_text(KNOWN)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def start(folder: Path, name: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "specs", "-q", "--axioms-import", "mine", "--axioms-report", name]
    return subprocess.Popen(
        [*command, *options],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def record(folder: Path, name: str, run: subprocess.Popen[str]) -> tuple[str, dict[str, Any]]:
    said, _ = run.communicate(timeout=400)
    assert run.returncode == 0, said
    return said, json.loads((folder / name / "results.json").read_text())


def but_for_timings(record: dict[str, Any]) -> dict[str, Any]:
    checks = [{name: value for name, value in check.items() if name != "seconds"} for check in record["checks"]]
    return {**record, "checks": checks, "run": record["run"]["status"], "cluster": None}


@pytest.mark.cluster
@slow
def test_two_workers_of_which_one_is_killed_give_the_same_record(folder: Path) -> None:
    _, alone = record(folder, "alone", start(folder, "alone"))
    (folder / "fate.txt").write_text("kill")
    said, together = record(folder, "together", start(folder, "together", "--axioms-cluster", "local:2"))
    assert but_for_timings(together) == but_for_timings(alone)
    assert alone["cluster"] is None
    assert together["cluster"]["address"] == "local:2"
    assert {worker["threads"] for worker in together["cluster"]["workers"]} == {1}
    (lost,) = together["cluster"]["lost"]
    assert lost["task"].startswith("many ")
    assert lost["computed_again"] > 0
    assert (folder / "fate.done").exists()
    assert f"1 lost ({lost['task']}), {lost['computed_again']} measurements computed again" in said


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("local:none", "--axioms-cluster local:none: use local:N with N workers, auto, or ray://host:port."),
        ("somewhere:6379", "--axioms-cluster somewhere:6379: use local:N with N workers, auto, or ray://host:port."),
    ],
)
def test_an_address_that_is_none_is_one_sentence(pytester: pytest.Pytester, address: str, sentence: str) -> None:
    result = pytester.runpytest_inprocess("--axioms-cluster", address)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [f"ERROR: {sentence}"]


def test_ray_that_is_not_installed_is_one_sentence(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    result = pytester.runpytest_inprocess("--axioms-cluster", "auto")
    sentence = "ERROR: --axioms-cluster needs Ray: pip install 'pytest-axioms[cluster]'."
    assert [line for line in result.errlines if line] == [sentence]


def test_xdist_and_a_cluster_are_too_many(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--axioms-cluster", "local:2", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --axioms-cluster and xdist's -n both deal out the work: use one of them."])


@pytest.fixture
def two_nodes() -> Any:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def remove_node(cluster: Any, marker: Path) -> None:
    """Wait until a worker says on which node it is, and kill that node; the head keeps the cluster together."""
    while not marker.exists() or not marker.read_text():
        time.sleep(0.1)
    (node,) = [node for node in cluster.worker_nodes if node.node_id == marker.read_text()]
    cluster.remove_node(node, allow_graceful=False)


@pytest.mark.cluster
@slow
def test_a_node_that_is_lost_costs_its_unfinished_shards(folder: Path, two_nodes: Any) -> None:
    _, alone = record(folder, "alone", start(folder, "alone"))
    (folder / "fate.txt").write_text("lose the node")
    killer = threading.Thread(target=remove_node, args=(two_nodes, folder / "fate.node"), daemon=True)
    killer.start()
    run = start(folder, "together", "--axioms-cluster", "auto", RAY_ADDRESS=two_nodes.address)
    _, together = record(folder, "together", run)
    assert but_for_timings(together) == but_for_timings(alone)
    (lost,) = together["cluster"]["lost"]
    assert lost["computed_again"] > 0
    assert (folder / "fate.node").exists()


@pytest.mark.cluster
@slow
def test_a_client_of_a_cluster_gives_the_same_record(folder: Path) -> None:
    from ray.cluster_utils import Cluster

    port = 10077
    head = {"num_cpus": 2, "include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        _, alone = record(folder, "alone", start(folder, "alone"))
        run = start(folder, "together", "--axioms-cluster", f"ray://127.0.0.1:{port}")
        _, together = record(folder, "together", run)
    finally:
        cluster.shutdown()
    assert but_for_timings(together) == but_for_timings(alone)
    assert len(together["cluster"]["workers"]) == 2


@pytest.mark.cluster
@slow
def test_an_interrupted_run_keeps_what_its_workers_finished(folder: Path, tmp_path: Path) -> None:
    """Killed outright, so that nothing can be saved at the end."""
    (folder / "fate.txt").write_text("sleep")
    cache = {"AXIOMS_CACHE": str(tmp_path / "cache"), "AXIOMS_FRESH": "0"}
    run = start(folder, "first", "--axioms-cluster", "local:1", **cache)
    while not (folder / "fate.node").exists():
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.2)
    run.kill()
    run.communicate()
    finished = len(list((tmp_path / "cache").rglob("*.measured")))
    assert finished > 0
    said, _ = record(folder, "second", start(folder, "second", "--axioms-reuse", **cache))
    assert f"{finished} of " in said
