"""How an item runs: the check, its record, and a short failure."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from axioms.core.errors import AssetMissing, AxiomsError, MissingPackage, NotApplicable
from axioms.plugin.options import assets_required, cache_of, overrides
from axioms.plugin.progress import Progress
from axioms.report.tables import effect

if TYPE_CHECKING:
    from axioms.run.runner import Result, Runner
    from axioms.spec import Check
    from axioms.verdict.statistics import PairedTest

RECORD = pytest.StashKey[dict[str, Any]]()
REUSED = pytest.StashKey[tuple[int, int]]()
"""How many measurements are an earlier run's, and how many there are."""


class CheckFailed(Exception):
    """A check whose verdict is not the one that its spec claims."""


@pytest.fixture(scope="session")
def axioms_runner(request: pytest.FixtureRequest) -> Generator[Runner]:
    """Give all checks of a session one runner, so that they share subjects and attributions."""
    from axioms.run.runner import Runner

    cache = cache_of(request.config)
    yield Runner(overrides(request.config), Progress(request.config), cache)
    if cache.reused:
        request.config.stash[REUSED] = (cache.reused, cache.reused + cache.measured)


def run_check(check: Check, runner: Runner, request: pytest.FixtureRequest) -> None:
    """Run the check, attach its record to the item, and fail if it does not pass."""
    from axioms.run.records import record

    try:
        result = runner.run(check)
    except MissingPackage as error:
        pytest.skip(str(error))
    except AssetMissing as error:
        if assets_required(request.config):
            raise
        pytest.skip(str(error))
    except NotApplicable as error:
        if not check.optional:
            raise
        pytest.skip(f"{check.rewrite} does not apply: {error}")
    _attach(record(result, request.node.nodeid), request.node)
    if not result.judgement.passed:
        raise CheckFailed(failure_text(result, request.node.nodeid))


def _attach(recorded: dict[str, Any], item: pytest.Item) -> None:
    """Attach a record to its item, and its metrics for JUnit."""
    item.stash[RECORD] = recorded
    for name, quantity in recorded["metrics"].items():
        item.user_properties.append((name, quantity["value"]))


def failure_text(result: Result, nodeid: str) -> str:
    """Return the verdict, which pytest repeats in its summary, the claim, the line, the bound and the number."""
    from axioms.report.tables import show

    check, judgement = result.check, result.judgement
    rows = [("verdict", f"{judgement.verdict}, {judgement.reason}"), ("claim", check.claim)]
    for finding in judgement.findings:
        quantity = {"value": finding.quantity.value, "interval": finding.quantity.interval}
        setting = f"n = {finding.quantity.n}, {result.run.dtype}, seed {result.run.seed}"
        shown = show(quantity) if finding.quantity.finite else "not finite"
        rows.append(("expected", f"{finding.metric} {finding.bound}    {finding.stated.place}"))
        rows.append(("measured", f"{shown}, {setting}"))
        if finding.test is not None:
            rows.append(("paired", paired_text(finding.test)))
    if check.violation is not None:
        rows.append(("claimed", f"a violation    {check.place}"))
    if result.worst:
        rows.append(("worst", result.worst))
    rows.append(("rerun", f'pytest "{nodeid}"'))
    return "\n".join(f"{name:<9} {value}" for name, value in rows)


def paired_text(test: PairedTest) -> str:
    """Return the test of a comparison on one line."""
    p, p_holm, d_z, wins = effect(asdict(test))
    return f"p = {p}, Holm's p = {p_holm} of {test.hypotheses}, d_z = {d_z}, better in {wins} of the examples"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the record, which xdist carries to the controller, and replace our own tracebacks by their sentence."""
    report = yield
    if report.when == "call" and RECORD in item.stash:
        report.axioms_record = item.stash[RECORD]  # type: ignore[attr-defined]
    if call.excinfo is not None and item.get_closest_marker("axioms") is not None:
        error = call.excinfo.value
        if isinstance(error, CheckFailed | AxiomsError):
            report.longrepr = str(error)
    return report
