"""`benchmarks/soak.py` runs specs again and again, and says so where memory or open files are not given back."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SPEC = """claim: Nothing is claimed.
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
methods: [loo]
checks: [{axiom: conservation, record: [ratio.mean]}]
"""
LEAKS = {
    "files": "left.append(open(os.devnull)); left.append(open(os.devnull))",
    "memory": "left.append(bytearray(os.urandom(2**20)) * 200)",
}
LEAKING = """
import os, pytest
left = []

@pytest.fixture(autouse=True)
def leak():
    LEAK
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one small spec, which the script is run in."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "mine.yaml").write_text(SPEC)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.fixture
def soak(root: Path) -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("soak", root / "benchmarks" / "soak.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module  # where its dataclass looks for its names
    spec.loader.exec_module(module)
    return module


def run(project: Path, root: Path, runs: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "benchmarks" / "soak.py"), "--runs", str(runs), "specs"]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{project}"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.sessions
@pytest.mark.skipif("not config.getoption('-m')", reason="starts whole sessions, and takes minutes: -m sessions")
def test_a_tiny_spec_does_not_grow(project: Path, root: Path) -> None:
    result = run(project, root, 5)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(" MB, ") == 5
    assert result.stdout.endswith("it does not grow\n")


@pytest.mark.sessions
@pytest.mark.skipif("not config.getoption('-m')", reason="starts whole sessions, and takes minutes: -m sessions")
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found(project: Path, root: Path, leak: str) -> None:
    (project / "leaking.py").write_text(LEAKING.replace("LEAK", LEAKS[leak]))
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p leaking\n")
    result = run(project, root, 5)
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stdout.endswith("it grows\n")


@pytest.mark.sessions
@pytest.mark.skipif("not config.getoption('-m')", reason="starts whole sessions, and takes minutes: -m sessions")
def test_a_run_that_fails_ends_it(project: Path, root: Path) -> None:
    (project / "specs" / "mine.yaml").write_text(SPEC.replace("record: [ratio.mean]", "expect: {ratio.mean: {ge: 99}}"))
    result = run(project, root, 4)
    assert result.returncode == 1
    assert "run 1 ended with <ExitCode.TESTS_FAILED: 1>" in result.stderr


def test_what_counts_as_growth(soak: Any) -> None:
    flat = [soak.Usage(100.0 * run, 10 * run) for run in (1, 2)] + [soak.Usage(300.0, 30)] * 3
    assert not soak.grows(flat)
    assert not soak.grows([*flat, soak.Usage(314.0, 32)])
    assert soak.grows([*flat, soak.Usage(316.0, 30)])
    assert soak.grows([*flat, soak.Usage(300.0, 33)])
