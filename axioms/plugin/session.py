"""The start of a session: markers, the user's modules, and the reporter."""

from __future__ import annotations

import pytest

from axioms.plugin.cluster import check_cluster
from axioms.plugin.distribution import Stopwatch
from axioms.plugin.options import add_suite, apply_switches, import_own, is_worker, overrides, read_added
from axioms.plugin.reporter import LastLine, Reporter
from axioms.spec import TIERS

MARKERS: dict[str, str] = {
    "axioms": "a check made from a YAML spec",
    **{str(tier): f"a check of the {tier} tier" for tier in TIERS},
}


RESUME = """--axioms-resume is no longer needed and does nothing: every run uses what an earlier one has measured with \
the same code, versions and specs, also one that was killed; of methods of your own, and beside a baseline, with \
--axioms-reuse. Leave it out; --axioms-fresh measures everything anew."""


def pytest_configure(config: pytest.Config) -> None:
    """Register markers, import the user's modules, and on the controller start the reporter."""
    for name, about in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {about}")
    apply_switches(config)
    add_suite(config)
    import_own(config)
    read_added(config)
    check_cluster(config)
    if not is_worker(config):
        if config.getoption("--axioms-resume"):
            config.issue_config_time_warning(pytest.PytestWarning(RESUME), stacklevel=2)
        reporter = Reporter(config)
        config.pluginmanager.register(reporter, "axioms-reporter")
        config.pluginmanager.register(Stopwatch(config), "axioms-stopwatch")
        config.pluginmanager.register(LastLine(reporter), "axioms-last-line")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what the command line changes, if anything."""
    changed = ", ".join(f"{name} {value}" for name, value in overrides(config).items())
    return f"axioms: {changed}" if changed else None
