"""The contracts on imports hold, and break where a module imports what it must not, also inside a function."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def lint(folder: Path) -> str:
    code = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A copy of the package, in which to do damage."""
    shutil.copytree(root / "axioms", tmp_path / "axioms", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


def test_contracts_hold(copy: Path) -> None:
    assert "0 broken" in lint(copy)


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("core/errors.py", "import axioms.model.targets", "Each layer imports only layers below it"),
        (
            "subjects/__init__.py",
            "def late() -> None:\n    from axioms.run import runner",
            "Each layer imports only layers below it",
        ),
        (
            "engine/__init__.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from axioms import methods",
            "Each layer imports only layers below it",
        ),
        (
            "spec/metrics.py",
            "def late() -> None:\n    import axioms.properties.conservation",
            "Specs see names in the registries, not what they stand for",
        ),
    ],
)
def test_an_import_upwards_breaks_them(copy: Path, module: str, line: str, broken: str) -> None:
    file = copy / "axioms" / module
    file.write_text(f"{file.read_text()}\n\n{line}\n")
    assert f"{broken} BROKEN" in lint(copy)
