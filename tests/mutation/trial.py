"""One mutant in one fork, in which pytest runs what should notice.

Most mutants change the code of a function that has not run yet when the tests are collected; those fork from one
session with everything imported and collected (session.py). Of the others, such as constants of a module, the mutated
source is what the import system finds, in a process that has not imported the package.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.operators import Mutant
from tests.mutation.record import ARGUMENTS, ROOT

SLACK = 4
"""A mutant may take so many times what its tests take, and STARTUP seconds more, before it counts as one that hangs."""

STARTUP = 20
MEMORY = 4 << 30

Row = dict[str, Any]
"""What is kept of a mutant: what it is, and what became of it."""


@dataclass(frozen=True)
class Trial:
    """A mutant, the tests to run, what they cost, and digests of the mutated file and of the tests' files."""

    mutant: Mutant
    tests: list[str]
    cost: float
    source: str
    tests_digest: str

    @property
    def module(self) -> str:
        """Return the name of the mutated module."""
        parts = Path(self.mutant.file).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def row(self, outcome: str, by: str, seconds: float) -> Row:
        """Return the result to keep."""
        mutant = self.mutant
        return {
            "identity": mutant.identity,
            "source": self.source,
            "tests": self.tests_digest,
            "file": mutant.file,
            "line": mutant.line,
            "operator": mutant.operator,
            "was": mutant.was,
            "now": mutant.now,
            "outcome": outcome,
            "by": by,
            "count": len(self.tests),
            "seconds": round(seconds, 1),
        }


class MutantFinder:
    """Finds one module of the package with other source; all others are found as ever."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the mutated module."""
        if name != self.trial.module:
            return None
        file, source = str(ROOT / self.trial.mutant.file), self.trial.mutant.source

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(source, file, "exec")

        return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))


class FirstFailure:
    """Writes down the test that noticed, and ends the process."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End at the first failure: nothing has to be torn down."""
        if report.failed:
            self.file.write_text(report.nodeid)
            os._exit(0)


class Order:
    """Runs the tests in the order in which they were chosen."""

    def __init__(self, tests: list[str]) -> None:
        self.places = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort."""
        items.sort(key=lambda item: self.places.get(item.nodeid, self.places.get(item.nodeid.split("::")[0], 0)))


def limit(trial: Trial, folder: Path) -> None:
    """Bound what this process may use, and send what it prints to a file."""
    seconds = int(SLACK * trial.cost + STARTUP)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + STARTUP))  # SIGXCPU first, which is a mutant's own
    memory = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)


def arguments_in(folder: Path) -> list[str]:
    """Return how pytest is called: everything measured anew, few examples that are the same each time."""
    os.environ["AXIOMS_FRESH"] = "1"
    quick = [HealthCheck.too_slow]
    phases = [Phase.explicit, Phase.generate]  # no shrinking: that something failed is enough
    settings.register_profile(
        "mutation", deadline=None, max_examples=50, derandomize=True, suppress_health_check=quick, phases=phases
    )
    paths = [f"--axioms-report={folder}/report", f"--basetemp={folder}/tests"]
    return [*ARGUMENTS, "--hypothesis-profile=mutation", *paths]


def run_imported(trial: Trial, folder: Path) -> None:
    """Run the tests of a mutant that is imported, and write down what noticed: nothing, if the file stays empty."""
    limit(trial, folder)
    sys.meta_path.insert(0, MutantFinder(trial))
    try:
        for name in ("axioms", "axioms.engine.handlers.propagate", "axioms.run.runner", trial.module):
            importlib.import_module(name)
    except BaseException as error:
        (folder / "by").write_text(f"import: {error!r}")
        return
    plugins = [FirstFailure(folder / "by"), Order(trial.tests)]
    code = pytest.main([*arguments_in(folder), *trial.tests], plugins=plugins)
    (folder / "by").write_text("" if code == pytest.ExitCode.OK else f"pytest: {code!r}")


def _child(run: Callable[[Trial, Path], None], trial: Trial, folder: Path) -> None:
    os.setsid()
    try:
        run(trial, folder)
    finally:
        sys.stdout.flush()
        os._exit(0)


def _result(trial: Trial, folder: Path, status: int, seconds: float) -> Row:
    """Read what a child has left: killed by a test, by the processor's clock, by a crash, or not at all.

    One that had to be ended while it waited shows nothing about its tests.
    """
    if os.WIFSIGNALED(status):
        outcomes: dict[int, str] = {signal.SIGXCPU: "timeout", signal.SIGKILL: "not run"}
        return trial.row(outcomes.get(os.WTERMSIG(status), "killed"), f"signal {os.WTERMSIG(status)}", seconds)
    by = (folder / "by").read_text() if (folder / "by").exists() else "exit"
    if repr(pytest.ExitCode.USAGE_ERROR) in by:  # a test of the map is gone: nothing ran
        return trial.row("not run", by, seconds)
    return trial.row("killed" if by else "survived", by, seconds)


def fork_each(trials: list[Trial], jobs: int, run: Callable[[Trial, Path], None]) -> Iterator[tuple[Trial, Row]]:
    """Run each trial in a fork, some at a time, and yield each with its result as it comes."""
    waiting = trials[::-1]
    running: dict[int, tuple[Trial, Path, float]] = {}
    base = Path(tempfile.mkdtemp(prefix="mutants-"))
    gc.collect()
    gc.freeze()  # what is imported by now is never collected: the forks need not look at it
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                trial = waiting.pop()
                if not trial.tests:
                    yield trial, trial.row("survived", "", 0.0)
                    continue
                folder = Path(tempfile.mkdtemp(dir=base))
                pid = os.fork()
                if pid == 0:
                    _child(run, trial, folder)
                running[pid] = (trial, folder, time.monotonic())
            time.sleep(0.02)
            for pid, (trial, folder, start) in list(running.items()):
                seconds = time.monotonic() - start
                if seconds > 8 * (SLACK * trial.cost + STARTUP):  # one that waits uses no time of the processor
                    os.killpg(pid, signal.SIGKILL)
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    del running[pid]
                    yield trial, _result(trial, folder, status, seconds)
                    shutil.rmtree(folder, ignore_errors=True)
    finally:
        for pid in running:
            os.killpg(pid, signal.SIGKILL)
        shutil.rmtree(base, ignore_errors=True)
