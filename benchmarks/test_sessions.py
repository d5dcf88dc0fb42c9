"""What whole sessions gain side by side: the default tier by two processes, and a study by two workers of a cluster.

Every time is that of a command in a fresh process, so that starting, loading the models and writing the report count;
bytecode is kept from one to the next, as at a desk. The study is Table 2 (specs/sentiment.yaml) on 256 sentences of
MiniLM, one thread for each worker. How long the default tier took, and what `axioms plan` said of it, stands beside.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
STUDY = """claim: two workers are faster than one
extends: suite:sentiment.yaml
subject: {{name: Rotten Tomatoes, data: {{rotten-tomatoes: {{split: held-out, n: {n}}}}}}}
run: {{batch_size: 16}}
"""
PLAN = "import sys; from axioms.commands.main import main; sys.exit(main(['plan', *sys.argv[1:], '--json']))"


@pytest.fixture
def command(tmp_path: Path, benchmark: Any) -> Callable[..., str]:
    """A function that runs a command of Python from the root of the checkout, and returns what it printed."""
    if benchmark._timer is time.process_time:
        pytest.skip("processor time counts this process alone, and sessions are processes of their own")
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS"):
        environment.pop(name, None)

    def run(*arguments: str, folder: Path = ROOT, more: Mapping[str, str] | None = None) -> str:
        process = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env={**environment, **(more or {})}, capture_output=True
        )
        printed = process.stdout.decode()
        assert process.returncode == 0, f"{printed[-2000:]}\n{process.stderr.decode()[-2000:]}"
        return printed

    return run


def test_sessions_side_by_side(
    alternate: Any, command: Callable[..., str], settings: Any, tmp_path: Path, seconds: Any
) -> None:
    """`pytest specs/ -n 2` over `pytest specs/`, and beside it the plan's word on the latter."""
    specs = ["specs/scalar_product.yaml"] if settings.quick else ["specs/"]

    def run(*options: str) -> None:
        command("-m", "pytest", *specs, "-q", "--axioms-fresh", "--axioms-report", str(tmp_path / "report"), *options)

    command("-m", "pytest", "specs/scalar_product.yaml", "-q", "-n", "2", "--axioms-report", str(tmp_path / "first"))
    plan = json.loads(command("-c", PLAN, *specs))
    times: list[float] = []
    try:
        alternate(
            "pytest specs/ -n 2",
            lambda: run("-n", "2"),
            lambda: times.append(seconds(run)),
            of="pytest specs/",
            goal=0.65,
            rounds=3,
        )
    finally:  # also where the goal is missed
        if times:
            median = statistics.median(times)
            said = f"`axioms plan` said {plan['seconds']:.0f} before, a factor of {median / plan['seconds']:.2f}"
            settings.notes.append(f"pytest {specs[0]}: {median:.0f} s; {said}")


@pytest.mark.skipif(sys.platform == "win32", reason="Ray's workers are slow to start there; the ratio says nothing")
def test_two_workers_of_a_cluster(alternate: Any, command: Callable[..., str], settings: Any, tmp_path: Path) -> None:
    """Table 2 on MiniLM, by two workers of one thread over one such worker."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'pytest-axioms[cluster]'")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "study.yaml").write_text(STUDY.format(n=64 if settings.quick else 256))

    def run(workers: int) -> None:
        report = tmp_path / f"report-{workers}"
        options = ["--axioms-fresh", "--axioms-cluster", f"local:{workers}", "--axioms-report", str(report)]
        printed = command(
            "-m", "pytest", "specs", "-q", *options, folder=tmp_path, more={"OMP_NUM_THREADS": str(workers)}
        )
        assert re.search(r"\d+ passed", printed), printed
        record = json.loads((report / "results.json").read_text())["cluster"]
        assert [worker["threads"] for worker in record["workers"]] == [1] * workers, record

    alternate(
        "two workers, 256 sentences of MiniLM", lambda: run(2), lambda: run(1), of="one worker", goal=0.6, rounds=1
    )
