"""Puts specs/ and fixtures/ into the wheel, as axioms/_suite; a checkout and its editable installs keep them here."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithSuite(build_py):
    """Builds the package with the suite inside."""

    def run(self) -> None:
        """Copy the modules, then the suite."""
        super().run()
        if self.editable_mode:
            return
        for name in ("specs", "fixtures"):
            shutil.copytree(
                name,
                Path(self.build_lib) / "axioms" / "_suite" / name,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__"),
            )


setup(cmdclass={"build_py": BuildWithSuite})
