"""Specs under xdist: those about one subject stay together, and what takes longest goes first."""

from __future__ import annotations

import atexit
import gc
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from math import inf
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from axioms.core.errors import SpecError
from axioms.plugin.options import is_worker
from axioms.spec import expand_file
from axioms.spec.files import SUFFIXES

SECONDS = "axioms/seconds"
"""Under which pytest's cache has the seconds that the checks of each spec took last."""
FROZEN: pytest.StashKey[bool] = pytest.StashKey()
"""Set where the garbage collector passes over what was there after the first spec."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal out whole specs, together with others about the same subject, so that it is built and attributed once.

    This is where nothing but specs is run and no other `--dist` is asked for. What took longest in the last session is
    dealt out first, so that no worker begins with it when the others are nearly done.
    """
    if config.getoption("dist") != "load" or not runs_only_specs(config):
        return None
    from xdist.scheduler import LoadScopeScheduling

    class BySubject(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return subject_of(config.rootpath / file_of(nodeid))

        def schedule(self) -> None:
            super().schedule()  # which begins with the subjects of the most checks
            for subject in longest_first(self.workqueue, seconds_of(config)):
                self.workqueue.move_to_end(subject)

    return BySubject(config, log)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Let a worker's garbage collector pass over what there is after its first spec: torch, what was collected.

    It takes seconds in all, and finds nothing there. Only until Python ends, because modules that are not collected
    then are reported as leaks by some libraries.
    """
    if FROZEN in item.config.stash or (nextitem is not None and nextitem.path == item.path):
        return
    if is_worker(item.config) and runs_only_specs(item.config):
        item.config.stash[FROZEN] = True
        gc.freeze()
        atexit.register(gc.unfreeze)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Let xdist's workers, which take seconds to end, do so while the report is written."""
    dealer = session.config.pluginmanager.get_plugin("dsession")
    nodes = getattr(dealer, "nodemanager", None)
    if nodes is None or not runs_only_specs(session.config):
        return (yield)
    ending = Thread(target=nodes.teardown_nodes, name="axioms-end-of-workers")
    ending.start()
    try:
        return (yield)
    finally:
        ending.join()


@cache
def subject_of(file: Path) -> str:
    """Return what is the same text for two specs where they are about the same subject, the first that they have."""
    try:
        check = expand_file(file).checks[0]
    except (SpecError, OSError, IndexError):
        return str(file)
    return f"{check.subject.model_dump_json(exclude={'name'})} {check.run.model_dump_json()}"


def longest_first(units: Mapping[str, Iterable[str]], seconds: Mapping[str, float]) -> list[str]:
    """Return the units by what the specs of their node ids took; those with an unknown spec come first, in order."""

    def duration(unit: str) -> float:
        return sum(seconds.get(file, inf) for file in {file_of(nodeid) for nodeid in units[unit]})

    return sorted(units, key=duration, reverse=True)


class Stopwatch:
    """Notes how long the checks of each spec take. Lives on the controller only."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the seconds of an item to those of its spec."""
        file = file_of(report.nodeid)
        if file.endswith(SUFFIXES):
            self._seconds[file] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Keep the seconds for the next session."""
        cache = _cache_of(self._config)
        if self._seconds and cache is not None:
            cache.set(SECONDS, {**seconds_of(self._config), **self._seconds})


def seconds_of(config: pytest.Config) -> dict[str, float]:
    """Return the seconds that the checks of each spec took last, as far as pytest's cache knows them."""
    cache = _cache_of(config)
    return {} if cache is None else cache.get(SECONDS, {})


def _cache_of(config: pytest.Config) -> pytest.Cache | None:
    """Return pytest's cache, which `-p no:cacheprovider` takes away."""
    return getattr(config, "cache", None)


def file_of(nodeid: str) -> str:
    """Return the file of a node id."""
    return nodeid.partition("::")[0]


def runs_only_specs(config: pytest.Config) -> bool:
    """Tell whether every path on the command line is a spec or a folder of specs."""
    folders = set(config.getini("axioms_specs"))
    paths = [Path(file_of(argument)) for argument in config.args]
    return all(path.suffix in SUFFIXES or folders & set(path.resolve().parts) for path in paths)
