"""How long `axioms check specs/` and `pytest --collect-only specs/` take beside importing what they need anyway.

pytest loads no plugin but ours: what others cost, and the garbage collector, are the host's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
YARDSTICK = "import yaml, pydantic, pytest"
COMMANDS = {
    "axioms check specs/": (["-c", "from axioms.commands.main import main; main(['check', 'specs/'])"], 5.0),
    "pytest --collect-only specs/": (["-m", "pytest", "-p", "axioms.plugin", "--collect-only", "specs/"], 5.0),
}
HEAVY = ("torch", "transformers", "matplotlib", "scipy", "numpy", "jinja2", "hypothesis")


@pytest.mark.parametrize("command", COMMANDS)
def test_start(benchmark: Any, compare: Any, tmp_path: Path, command: str) -> None:
    """And neither command imports anything heavy."""
    if benchmark._timer is time.process_time:
        pytest.skip("processor time counts this process alone, and commands are processes of their own")
    arguments, goal = COMMANDS[command]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(*arguments: str) -> str:
        process = [sys.executable, *arguments]
        return subprocess.run(process, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stderr

    times = run("-X", "importtime", *arguments).splitlines()
    imported = {line.rpartition("|")[2].strip() for line in times if line.startswith("import time:")}
    assert imported.isdisjoint(HEAVY)
    compare(command, lambda: run(*arguments), lambda: run("-c", YARDSTICK), of=YARDSTICK, goal=goal)
