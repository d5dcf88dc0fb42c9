"""The pytest plugin: a thin skin around checks and their runner."""

from axioms.plugin.added import pytest_terminal_summary
from axioms.plugin.collect import (
    pytest_collect_directory,
    pytest_collect_file,
    pytest_collection_modifyitems,
    pytest_report_collectionfinish,
)
from axioms.plugin.distribution import pytest_runtest_teardown, pytest_sessionfinish, pytest_xdist_make_scheduler
from axioms.plugin.items import axioms_runner, pytest_runtest_makereport
from axioms.plugin.options import pytest_addoption
from axioms.plugin.session import pytest_configure, pytest_report_header
from axioms.plugin.tiers import pytest_testnodedown

__all__ = [
    "axioms_runner",
    "pytest_addoption",
    "pytest_collect_directory",
    "pytest_collect_file",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_collectionfinish",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_runtest_teardown",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
    "pytest_xdist_make_scheduler",
]
