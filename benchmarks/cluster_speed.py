"""How much faster two workers are than one: `python benchmarks/cluster_speed.py`, on a machine with two idle cores.

Each run is a whole session, `pytest --axioms-cluster local:N` with one thread for each worker, so that starting Ray and
loading the model count. The goal is a ratio of at most 0.6 on 256 sentences of MiniLM.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 0.6
SPEC = """claim: two workers are faster than one
subject: {{model: minilm-sentiment, data: {{rotten-tomatoes: {{split: held-out, n: {n}}}}}, target: predicted}}
run: {{dtype: float32, batch_size: 16}}
methods: [attnlrp, cp_lrp]
checks:
  - {{axiom: loo_correlation, record: [pearson.mean]}}
"""


def session(folder: Path, workers: int) -> float:
    """Return the seconds that a session takes with so many workers."""
    report = folder / f"report-{workers}"
    command = ["pytest", "specs", "-q", "--axioms-fresh", "--axioms-cluster", f"local:{workers}"]
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", *command, "--axioms-report", str(report)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": str(workers)},  # which the workers share
        stdout=subprocess.DEVNULL,
        check=True,
    )
    seconds = time.perf_counter() - started
    threads = {worker["threads"] for worker in json.loads((report / "results.json").read_text())["cluster"]["workers"]}
    assert threads == {1}, threads
    return seconds


def main() -> None:
    """Print the seconds with one worker and with two, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=256)
    sentences = parser.parse_args().sentences
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "specs").mkdir()
        (folder / "specs" / "speed.yaml").write_text(SPEC.format(n=sentences))
        one, two = session(folder, 1), session(folder, 2)
    print(f"{sentences} sentences of MiniLM: {one:.1f} s with one worker, {two:.1f} s with two")
    print(f"ratio {two / one:.2f}, goal <= {GOAL}")


if __name__ == "__main__":
    main()
