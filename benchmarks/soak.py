"""Run specs again and again in one process, and see that it keeps neither memory nor open files.

    python benchmarks/soak.py                                   # ten runs of the default suite
    python benchmarks/soak.py --runs 10 specs/always.yaml       # of some specs, which takes minutes

Prints what the process holds after each run, and ends with 1 where it grows. The first runs fill what is there to stay
(modules, torch's pools, a model for each subject), so growth is counted from the third on.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

WARM = 3
"""Runs until everything that stays has been loaded."""
MEMORY = 1.05
"""How much more the last run may hold than the first warm one: less than one run's records."""
FILES = 2
"""How many more files may be open, by which the system's own vary."""


@dataclass(frozen=True)
class Usage:
    """What the process holds after a run."""

    megabytes: float
    files: int


def usage() -> Usage:
    """Return the memory and the number of open files of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Usage(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir("/proc/self/fd")))


def soak(arguments: list[str], runs: int) -> list[Usage]:
    """Run pytest so many times, everything measured anew; return what the process held after each."""
    held = []
    for number in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            options = ["-q", "-p", "no:cacheprovider", "--axioms-fresh", "--axioms-report", folder, "--no-summary"]
            code = pytest.main([*options, *arguments])
        if code != pytest.ExitCode.OK:
            sys.exit(f"run {number} ended with {code!r}")
        held.append(usage())
        print(f"run {number}: {held[-1].megabytes:.0f} MB, {held[-1].files} files", flush=True)
    return held


def grows(held: list[Usage]) -> bool:
    """Tell whether the last run holds more than the first warm one."""
    first, last = held[WARM - 1], held[-1]
    return last.megabytes > MEMORY * first.megabytes or last.files > first.files + FILES


def main() -> int:
    """Run, print, and return 1 where the process grows."""
    parser = argparse.ArgumentParser(
        description="Run specs again and again in one process and see that it does not grow."
    )
    parser.add_argument("--runs", type=int, default=10, help=f"more than {WARM} (10)")
    parser.add_argument("specs", nargs="*", default=["specs/"])
    options = parser.parse_args()
    if options.runs <= WARM:
        parser.error(f"--runs must be more than {WARM}: the first {WARM} fill what is there to stay")
    held = soak(options.specs, options.runs)
    print("it grows" if grows(held) else "it does not grow")
    return int(grows(held))


if __name__ == "__main__":
    sys.exit(main())
