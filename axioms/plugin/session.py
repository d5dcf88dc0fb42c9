"""The start of a session: markers, the user's modules, and the reporter."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from axioms.plugin.options import apply_offline, is_worker, modules_of, overrides
from axioms.plugin.reporter import Reporter
from axioms.spec import TIERS

MARKERS: dict[str, str] = {
    "axioms": "a check made from a YAML spec",
    **{str(tier): f"a check of the {tier} tier" for tier in TIERS},
}


RESUME = """--axioms-resume is no longer needed and does nothing: every run uses what an earlier one has measured with \
the same code, versions and specs, also one that was killed. Leave it out; --axioms-fresh measures everything anew."""


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, import the user's modules, and on the controller start the reporter."""
    for name, about in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {about}")
    apply_offline(config)
    for module in modules_of(config):
        _import(module, config.invocation_params.dir)
    if not is_worker(config):
        if config.getoption("--axioms-resume"):
            config.issue_config_time_warning(pytest.PytestWarning(RESUME), stacklevel=2)
        config.pluginmanager.register(Reporter(config), "axioms-reporter")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what the command line changes, if anything."""
    changed = ", ".join(f"{name} {value}" for name, value in overrides(config).items())
    return f"axioms: {changed}" if changed else None


def _import(module: str, folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there; something that it needs is not
        raise pytest.UsageError(
            f"--axioms-import {module}: there is no such module in {folder} or among the installed packages."
        ) from None
