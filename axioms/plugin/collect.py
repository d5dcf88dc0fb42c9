"""From spec files to pytest items."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from axioms.core.errors import SpecError, display_path
from axioms.core.printable import printable
from axioms.core.suite import suite_specs
from axioms.plugin.items import run_check
from axioms.plugin.options import ADDED
from axioms.plugin.tiers import note_above, tiers_above
from axioms.spec import Check, MethodRef, expand_file
from axioms.spec.added import added_checks
from axioms.spec.files import SUFFIXES, is_spec

if TYPE_CHECKING:
    from axioms.run.runner import Runner


LEFT_ALONE = pytest.StashKey[list[Path]]()
"""YAML files in a folder of specs that are none."""
ELSEWHERE = pytest.StashKey[list[Path]]()
"""YAML files in other folders, which may be specs: they are looked at where nothing was collected."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SpecFile | None:
    """Collect the specs in a folder of specs, or named on the command line; `_*.yaml` are bases for `extends`."""
    if file_path.suffix not in SUFFIXES or file_path.name.startswith("_"):
        return None
    if not parent.session.isinitpath(file_path):
        if not _is_in_specs(file_path, parent.config):
            parent.config.stash.setdefault(ELSEWHERE, []).append(file_path)
            return None
        if not is_spec(file_path):
            parent.config.stash.setdefault(LEFT_ALONE, []).append(file_path)
            return None
    _refuse_unseen(file_path)
    collected: SpecFile = SpecFile.from_parent(parent, path=file_path)
    return collected


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> None:
    """Refuse folders in a folder of specs whose names pytest could not print."""
    if _is_in_specs(path / "any.yaml", parent.config):
        _refuse_unseen(path)


def _refuse_unseen(path: Path) -> None:
    """Refuse a name that would act on the terminal: pytest writes the names of what it collects as they are."""
    if printable(path.name) != path.name:
        raise pytest.Collector.CollectError(
            f"{printable(display_path(path))}: the name has characters that nobody sees and that act on terminals; "
            "rename it."
        )


def _is_in_specs(file: Path, config: pytest.Config) -> bool:
    """Tell whether a file lies in a folder of specs: one of this repository's, or the suite's where that is run."""
    if config.getoption("--axioms-suite") and file.is_relative_to(suite_specs()):
        return True
    inside = file.relative_to(config.rootpath).parts[:-1] if file.is_relative_to(config.rootpath) else ()
    return not set(config.getini("axioms_specs")).isdisjoint(inside)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Say why nothing was collected, and name the YAML files that were left alone where the user wants to know more."""
    if not items:
        specs = [file for file in config.stash.get(ELSEWHERE, []) if is_spec(file)]
        if specs:
            return [printable(_why_nothing(specs, config))]
    files = config.stash.get(LEFT_ALONE, [])
    if config.get_verbosity() < 1:
        return []
    return [printable(f"axioms: {display_path(file)} has no `claim` and is no spec; left alone") for file in files]


def _why_nothing(specs: list[Path], config: pytest.Config) -> str:
    """Return why specs in a folder that was named are not collected, and what to do."""
    folders = " or ".join(config.getini("axioms_specs"))
    names = ", ".join(map(display_path, specs[:3])) + (", ..." if len(specs) > 3 else "")
    return (
        f"axioms: {names} looks like a spec and was not collected, because it lies in no folder called {folders} below "
        f"{config.rootpath}. Name the file itself, move it, or name its folder in pytest's settings: "
        f"axioms_specs = {folders.replace(' or ', ' ')} {specs[0].parent.name}"
    )


class SpecFile(pytest.Module):
    """A spec as a module of functions.

    Real functions, because `--lf`, `-k`, fixtures, xdist and JUnit all rely on what pytest knows about functions. They
    are made here and not by `parametrize`, which takes several times as long for thousands of checks.
    """

    def _getobj(self) -> ModuleType:
        return ModuleType(self.path.stem)

    def collect(self) -> Iterator[CheckItem]:
        """Yield one item for each check; all call the same function and so need the same fixtures."""
        try:
            expanded = expand_file(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        functions = {spec.tier: _function(spec.tier) for spec in expanded.specs}
        fixtures = None
        methods: list[MethodRef] = self.config.stash[ADDED]
        added = added_checks(expanded.checks, methods)
        for check in (*expanded.checks, *added):
            function = functions[check.tier]
            item: CheckItem = CheckItem.from_parent(self, name=item_name(check), callobj=function, fixtureinfo=fixtures)
            item.check = check
            fixtures = item._fixtureinfo
            yield item


class CheckItem(pytest.Function):
    """One check."""

    check: Check

    @cached_property
    def id(self) -> Any:
        """The identity of the item in pytest 9.2 and later, where the text in brackets is a part of its own."""
        return type(super().id).parse(self.nodeid)


def item_name(check: Check) -> str:
    """Return `axiom[id]`, as pytest writes it: with escapes for what is not ASCII."""
    return f"{check.function}[{check.id.encode('unicode_escape').decode('ascii')}]"


def _function(tier: str) -> Callable[..., None]:
    @pytest.mark.axioms
    def function(axioms_runner: Runner, request: pytest.FixtureRequest) -> None:
        run_check(request.node.check, axioms_runner, request)

    marked: Callable[..., None] = getattr(pytest.mark, tier)(function)
    return marked


@pytest.hookimpl(trylast=True)  # after -k and -m, so that only what they leave counts as above the tier
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect methods that the command line does not ask for, and what lies above the tier."""
    left_out = tiers_above(config.getoption("--axioms-tier"))
    pattern, only_added = config.getoption("--axioms-methods"), config.getoption("--axioms-only-method")
    selected: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    above: dict[str, str] = {}
    for item in items:
        check = check_of(item)
        if check is None:
            selected.append(item)
            continue
        # A check that is about no method (forward equivalence) goes with every choice.
        wanted = pattern is None or check.method is None or fnmatch.fnmatchcase(check.method.label, pattern)
        if only_added:
            wanted = wanted and (check.added or check.method is None)
        if wanted and check.tier in left_out:
            above[item.nodeid] = check.tier
            wanted = False
        (selected if wanted else deselected).append(item)
    note_above(config, above)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def check_of(item: pytest.Item) -> Check | None:
    """Return the check behind an item; None for an ordinary test."""
    return item.check if isinstance(item, CheckItem) else None
