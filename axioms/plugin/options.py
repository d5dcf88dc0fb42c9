"""Command-line options."""

from __future__ import annotations

from typing import Any

import pytest

from axioms.spec import TIERS

DTYPES = ("float64", "float32", "float16", "bfloat16")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The `axioms` group of `pytest --help`."""
    group = parser.getgroup("axioms", "checking attribution methods against YAML specs")
    group.addoption(
        "--axioms-tier", choices=TIERS, default="smoke", help="run specs up to this tier; the rest is skipped (smoke)"
    )
    group.addoption(
        "--axioms-device",
        metavar="DEVICE",
        help="compute on this device instead of the specs' own: auto, cpu, cuda, ...",
    )
    group.addoption("--axioms-dtype", choices=DTYPES, help="compute in this dtype instead of the specs' own")
    group.addoption("--axioms-methods", metavar="GLOB", help="only methods whose label matches, for example 'attn*'")
    group.addoption(
        "--axioms-report",
        metavar="DIR",
        default="reports/latest",
        help="where results.json, summary.md and the paper's tables and figures go (reports/latest)",
    )
    group.addoption(
        "--axioms-import",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module first, so that specs can name what it registers; may be given more than once",
    )
    parser.addini("axioms_specs", "names of the folders whose YAML files are specs", type="args", default=["specs"])


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is one of xdist's workers: only the controller writes reports."""
    return hasattr(config, "workerinput")


def overrides(config: pytest.Config) -> dict[str, Any]:
    """What the command line changes in every spec's `run`."""
    chosen = {"device": config.getoption("--axioms-device"), "dtype": config.getoption("--axioms-dtype")}
    return {name: value for name, value in chosen.items() if value is not None}
