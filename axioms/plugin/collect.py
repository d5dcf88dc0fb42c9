"""Spec files to pytest items."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from axioms.errors import SpecError
from axioms.plugin.items import run_check
from axioms.spec import TIERS, Check, expand_file

if TYPE_CHECKING:
    from axioms.run import Runner


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SpecFile | None:
    """YAML files in a folder of specs, and those named on the command line; `_*.yaml` are bases for `extends`."""
    if file_path.suffix not in (".yaml", ".yml") or file_path.name.startswith("_"):
        return None
    folders = set(parent.config.getini("axioms_specs"))
    inside = folders & set(
        file_path.relative_to(parent.config.rootpath).parts[:-1] if _below(file_path, parent) else ()
    )
    if inside or parent.session.isinitpath(file_path):
        collected: SpecFile = SpecFile.from_parent(parent, path=file_path)
        return collected
    return None


def _below(file_path: Path, parent: pytest.Collector) -> bool:
    return file_path.is_relative_to(parent.config.rootpath)


class SpecFile(pytest.Module):
    """A spec as a module of parametrized functions.

    Real functions, because `--lf`, `-k`, ids, xdist and JUnit all rely on what pytest knows about functions.
    """

    def _getobj(self) -> ModuleType:
        try:
            expanded = expand_file(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        module = ModuleType(self.path.stem, expanded.spec.claim)
        for name in dict.fromkeys(check.function for check in expanded.checks):
            mine = [check for check in expanded.checks if check.function == name]
            setattr(module, name, _function(name, mine, module.__name__))
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Axioms are not called test_*."""
        return not name.startswith("__")

    def classnamefilter(self, name: str) -> bool:
        """There are no classes in a spec."""
        return False


def _function(name: str, checks: list[Check], module: str) -> Callable[..., Any]:
    def function(check: Check, axioms_runner: Runner, request: pytest.FixtureRequest) -> None:
        run_check(check, axioms_runner, request)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    parameters = [
        pytest.param(check, id=check.id, marks=[pytest.mark.axioms, getattr(pytest.mark, check.tier)])
        for check in checks
    ]
    return pytest.mark.parametrize("check", parameters)(function)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what lies above the tier; deselect methods that were not asked for."""
    allowed = TIERS[: TIERS.index(config.getoption("--axioms-tier")) + 1]
    pattern = config.getoption("--axioms-methods")
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        check = check_of(item)
        if check is None:
            kept.append(item)
            continue
        if check.tier not in allowed:
            item.add_marker(pytest.mark.skip(reason=f"{check.tier} tier: --axioms-tier {check.tier}"))
        # A check that is about no method (forward equivalence) goes with every choice.
        wanted = pattern is None or check.method is None or fnmatch.fnmatchcase(check.method.label, pattern)
        (kept if wanted else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def check_of(item: pytest.Item) -> Check | None:
    """The check behind an item; None for an ordinary test."""
    if isinstance(item.parent, SpecFile) and isinstance(item, pytest.Function):
        check = item.callspec.params["check"]
        assert isinstance(check, Check)
        return check
    return None
