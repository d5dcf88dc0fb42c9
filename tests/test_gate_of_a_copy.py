"""The committed baseline tells a changed package from an unchanged one: copies of it, each in its own process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RULE = (
    "axioms/engine/rules.py",
    "value if parts == 1 else gradients.scale_gradient(value, gradients.stabilized(value, parts, epsilon))",
    "value if parts == 1 else gradients.scale_gradient(value, 1.01 * gradients.stabilized(value, parts, epsilon))",
)
STEPS = ("axioms/methods/gradient.py", "steps: Nodes = 20,", "steps: Nodes = 19,")


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """The package, its specs and its baseline in another folder."""
    for folder in ("axioms", "specs", "reports"):
        ignored = shutil.ignore_patterns("__pycache__", "latest")
        shutil.copytree(root / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def gated(copy: Path, *specs: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *(f"specs/{spec}" for spec in specs), "-q", "-p", "no:cacheprovider"]
    command += ["--axioms-baseline", "reports/baseline.json", "--axioms-report", "out"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=300)


def change(copy: Path, file: str, old: str, new: str) -> None:
    text = (copy / file).read_text()
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))


def drifted(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """The rows of the diff: kind, check, metric, before, after, allowed."""
    return [line.split() for line in done.stdout.splitlines() if line.startswith("drift ")]


def test_an_unchanged_package_passes(copy: Path) -> None:
    done = gated(copy, "scalar_product.yaml", "integrated_gradients.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "72 metrics compared: none drifted." in done.stdout


def test_the_product_rule_off_by_one_percent(copy: Path) -> None:
    change(copy, *RULE)
    done = gated(copy, "scalar_product.yaml")
    assert done.returncode == 1
    rows = drifted(done)
    (relevance,) = [
        row for row in rows if row[1] == "specs/scalar_product.yaml::relevance[attnlrp]" and "left" in row[2]
    ]
    assert relevance[2].startswith("left.scores[0]")
    assert float(relevance[4]) == pytest.approx(float(relevance[3]) * 1.01, rel=0.02)
    touched = {row[1].partition("[")[2].rstrip("]") for row in rows}
    assert touched == {"attnlrp", "lrp_epsilon"}, "the methods that use this rule, and no other"


def test_one_step_less_of_integrated_gradients(copy: Path) -> None:
    change(copy, *STEPS)
    done = gated(copy, "integrated_gradients.yaml")
    assert done.returncode == 1
    assert "3 passed" in done.stdout, "the claim still holds: only the baseline can tell"
    (row,) = drifted(done)
    assert row[1:3] == ["specs/integrated_gradients.yaml::conservation[integrated_gradients]", "relative_error.max"]
    assert float(row[4]) > float(row[3])
