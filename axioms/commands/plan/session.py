"""What a run takes beside its passes: a session of pytest around it, and what every check adds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from axioms.commands.plan.device import Device
from axioms.core.errors import AxiomsError
from axioms.core.suite import suite_specs

TRIFLE = "scalar_product.yaml"
"""A spec of the suite whose model is a product of three numbers: its checks take what any check takes at least."""
SMALL_MODEL = "remedies_rewrites_bert.yaml"
"""A spec of the suite with many checks of a Transformer of two layers, as most specs of the suite have."""
COPIES = 12
"""Of the trifle in the longer session: so many that what a check takes stands out from what starting takes."""
PLAIN = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--axioms-fresh")


@dataclass(frozen=True)
class Session:
    """What is not passes."""

    start: float
    """Seconds to start pytest, to write the report and to end."""
    check: float
    """Seconds of a check beside its passes: to build and guard its model, to measure, to judge and to report."""


def measure_session(device: Device) -> Session:
    """Time a session of one small spec and one of many, and the checks of a small Transformer beside their passes."""
    from axioms.spec import expand_file

    checks = len(expand_file(suite_specs() / TRIFLE).checks)
    one, many = _seconds_of_session(1), _seconds_of_session(COPIES)
    around = max(0.0, many - one) / ((COPIES - 1) * checks)
    return Session(start=max(0.0, one - checks * around), check=around + _beside_passes(device))


def _seconds_of_session(copies: int) -> float:
    """Return how long pytest takes from its start to its end, with so many copies of the trifle."""
    with TemporaryDirectory() as name:
        folder, specs = Path(name), Path(name) / "specs"
        specs.mkdir()
        for number in range(copies):
            shutil.copyfile(suite_specs() / TRIFLE, specs / f"{number}_{TRIFLE}")
        places = ["--rootdir", str(folder), "--axioms-report", str(folder / "report")]
        # Not the user's options: with `-n 4` or `-x` among them, other things would be measured.
        environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
        command = [sys.executable, "-m", "pytest", str(specs), *places, *PLAIN]
        started = time.perf_counter()
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
    if ended.returncode:
        last = (f"{ended.stdout}\n{ended.stderr}".strip().splitlines() or ["nothing was printed"])[-1]
        raise AxiomsError(f"a session of pytest on {TRIFLE}, timed to calibrate, failed: {last}")
    return seconds


def _beside_passes(device: Device) -> float:
    """Return the seconds of a check on a small Transformer, without those that its passes are planned to take."""
    from axioms.commands.plan.estimate import Planner
    from axioms.run.runner import Runner
    from axioms.spec import TIERS, expand_file

    expanded, tiers = expand_file(suite_specs() / SMALL_MODEL), TIERS[:1]
    plan = Planner().plan(expanded, tiers, SMALL_MODEL)
    first, *others = (check for check in expanded.checks if check.tier in tiers)
    runner = Runner()
    runner.run(first)  # imports and loads the model, which is planned apart
    started = time.perf_counter()
    for check in others:
        runner.run(check)
    seconds = time.perf_counter() - started
    return max(0.0, seconds - plan.passing(device)) / len(others)
