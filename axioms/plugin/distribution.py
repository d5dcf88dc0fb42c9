"""Specs under xdist: the checks of a spec stay together, so that its subject is built and attributed once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal out whole spec files where nothing but specs is run and no other `--dist` is asked for."""
    if config.getoption("dist") != "load" or not runs_only_specs(config):
        return None
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def runs_only_specs(config: pytest.Config) -> bool:
    """Tell whether every path on the command line is a spec or a folder of specs."""
    folders = set(config.getini("axioms_specs"))
    paths = [Path(argument.partition("::")[0]) for argument in config.args]
    return all(path.suffix in (".yaml", ".yml") or folders & set(path.resolve().parts) for path in paths)
