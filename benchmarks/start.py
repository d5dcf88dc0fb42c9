"""How long `axioms check specs/` and `pytest --collect-only specs/` take, against importing what they need anyway.

    python benchmarks/start.py

The yardstick is `python -c "import yaml, pydantic, pytest"`; the bounds are five and seven times as long. pytest loads
no plugin but ours: what others cost, and the garbage collector, are the host's. All are run one after the other in
rounds, each in a process of its own, after one round that does not count and fills the bytecode caches. Wall time is
what one waits for; processor time says the same on a machine that does other things besides.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
YARDSTICK = "import yaml, pydantic, pytest"
COMMANDS = {
    YARDSTICK: ["-c", YARDSTICK],
    "axioms check specs/": ["-c", "from axioms.commands.main import main; main(['check', 'specs/'])"],
    "pytest --collect-only specs/": ["-m", "pytest", "-p", "axioms.plugin", "--collect-only", "specs/"],
}
BOUNDS = dict(zip(COMMANDS, (1.0, 5.0, 7.0), strict=True))
HEAVY = ("torch", "transformers", "matplotlib", "scipy", "numpy", "jinja2", "hypothesis")


def measured(arguments: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of one process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def imported(arguments: list[str], environment: dict[str, str]) -> list[str]:
    """Which of the heavy packages a command imports."""
    command = [sys.executable, "-X", "importtime", *arguments]
    said = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stderr
    names = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
    return [name for name in HEAVY if name in names]


def main() -> int:
    """Print the table; the exit code is 1 where a command takes longer than its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="how often each is run (11)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
        for number in range(rounds + 1):
            for name, arguments in COMMANDS.items():
                found = measured(arguments, environment)
                if number > 0:
                    seconds[name].append(found)
        print(f"medians of {rounds} rounds")
        slow = False
        for name, arguments in COMMANDS.items():
            wall, processor = (statistics.median(each) for each in zip(*seconds[name], strict=True))
            pairs = list(zip(seconds[name], seconds[YARDSTICK], strict=True))
            ratios = [statistics.median(mine[i] / base[i] for mine, base in pairs) for i in (0, 1)]
            heavy = ", ".join(imported(arguments, environment)) or "nothing heavy"
            print(f"{name:<30} {wall:.2f} s, {processor:.2f} s of processor;", end=" ")
            print(f"{ratios[0]:.2f} and {ratios[1]:.2f} times the yardstick; imports {heavy}")
            slow |= ratios[0] > BOUNDS[name]
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
