"""The suite that ships with the package: its specs and fixtures."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PREFIX = "suite:"
"""What stands before the name of a spec of the suite in `extends`."""


@cache
def suite_folder() -> Path:
    """Return the folder that holds `specs/` and `fixtures/`: inside an installed package, else the checkout itself."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_suite"
    return shipped if shipped.is_dir() else package.parent


def suite_specs() -> Path:
    """Return the folder of the suite's specs."""
    return suite_folder() / "specs"


def suite_fixtures() -> Path:
    """Return the folder of the suite's fixtures."""
    return suite_folder() / "fixtures"
