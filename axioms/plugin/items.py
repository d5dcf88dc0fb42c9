"""How an item runs: the check, its record, and a short failure."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from axioms.core.errors import (
    AssetMissing,
    AxiomsError,
    ClusterError,
    MissingPackage,
    NotApplicable,
    NotDefined,
    UncoveredOperation,
    display_path,
)
from axioms.core.printable import printable
from axioms.core.stack import with_room
from axioms.core.workers import share_threads, this_worker
from axioms.plugin.cluster import start_of
from axioms.plugin.options import CLAIMS, assets_required, cache_of, overrides, rerun_command
from axioms.plugin.progress import Progress
from axioms.report.text import effect, show
from axioms.spec import Check
from axioms.spec.added import claim_of

if TYPE_CHECKING:
    from axioms.record import CheckRecord, Comparison, ErrorCheck, SkippedCheck
    from axioms.run.runner import Runner
    from axioms.spec.added import Claim
    from axioms.verdict.judge import Judgement

RECORD = pytest.StashKey[tuple[str, dict[str, str]]]()
"""The record of a check, and of its methods by label, as JSON."""
NOT_APPLICABLE = pytest.StashKey[str]()
"""Why the rewrite of a skipped check does not apply."""
REUSED = pytest.StashKey[tuple[int, int]]()
"""How many measurements are an earlier run's, and how many there are."""


class CheckFailed(Exception):
    """A check whose verdict is not the one that its spec claims."""


@pytest.fixture(scope="session")
def axioms_runner(request: pytest.FixtureRequest) -> Generator[Runner]:
    """Give all checks of a session one runner, so that they share subjects and attributions."""
    from axioms.run.runner import Runner

    share_threads(this_worker())
    cache = cache_of(request.config)
    checks = [item.check for item in request.session.items if hasattr(item, "check") and not _is_skipped(item)]
    yield Runner(overrides(request.config), Progress(request.config), cache, checks, start_of(request.config))
    if cache.reused:
        request.config.stash[REUSED] = (cache.reused, cache.reused + cache.measured)


def _is_skipped(item: pytest.Item) -> bool:
    """Tell whether an item is going to be skipped, as far as markers say."""
    return item.get_closest_marker("skip") is not None


def run_check(check: Check, runner: Runner, request: pytest.FixtureRequest) -> None:
    """Run the check, attach its record to the item, and fail if it does not pass."""
    from axioms.run.records import record

    claims: dict[str, list[Claim]] = request.config.stash[CLAIMS]
    claim = claim_of(check, request.node.nodeid, claims) if check.added else None
    if claim is not None and claim.verdict == "refused":
        check = check.but(refusal=True)
    try:
        result = with_room(lambda: runner.run(check))
    except ClusterError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.TESTS_FAILED)
    except MissingPackage as error:
        pytest.skip(printable(str(error)))
    except AssetMissing as error:
        if assets_required(request.config):
            raise
        pytest.skip(printable(str(error)))
    except NotApplicable as error:
        if not check.optional:
            raise
        request.node.stash[NOT_APPLICABLE] = str(error)
        pytest.skip(printable(f"{check.rewrite} does not apply: {error}"))
    except (NotDefined, UncoveredOperation) as error:
        if not check.added or claim is not None:
            raise
        pytest.skip(printable(f"not defined here: {error}"))
    if claim is not None:
        result = replace(result, judgement=with_claim(result.judgement, claim))
    elif check.added:
        result = replace(result, judgement=replace(result.judgement, passed=True))
    recorded = record(result, request.node.nodeid)
    _attach(recorded, check, request.node)  # as text, here: what cannot be written is an error of this check alone
    if not recorded.passed:
        raise CheckFailed(failure_text(recorded, rerun_command(request.config, recorded.id)))


def with_claim(judgement: Judgement, claim: Claim) -> Judgement:
    """Return a judgement that passes where the verdict is the claimed one."""
    passed = judgement.verdict == claim.verdict
    reason = judgement.reason if passed else f"and {claim.place} claims {claim.verdict}: {judgement.reason}"
    return replace(judgement, passed=passed, reason=reason)


def _attach(recorded: CheckRecord, check: Check, item: pytest.Item) -> None:
    """Attach the record to the item, and for JUnit its metrics and what it shows of the claims that it decides."""
    item.stash[RECORD] = (recorded.model_dump_json(), _methods_json(recorded))
    if recorded.shows is not None:
        shows = recorded.shows.replace("_", " ")
        item.user_properties += [(printable(f"claim: {claim}"), shows) for claim in check.decides]
    for name, quantity in recorded.metrics.items():
        item.user_properties.append((printable(name), quantity.value))


def failure_text(check: CheckRecord, rerun: str) -> str:
    """Return the verdict, which pytest repeats in its summary, the claim, the line, the bound and the number."""
    rows = [("verdict", f"{check.verdict}, {check.reason}"), ("claim", check.claim)]
    for decision in check.bounds:
        rows.append(("expected", f"{decision.metric} {decision.bound}    {decision.place}"))
        setting = f"n = {decision.n}, {check.run.dtype}, seed {check.run.seed}"
        rows.append(("measured", f"{show(decision)}, {setting}"))
        if decision.metric in check.paired:
            rows.append(("paired", paired_text(check.paired[decision.metric])))
    if check.violation_claimed:
        rows.append(("claimed", f"a violation    {check.place}"))
    if check.worst:
        rows.append(("worst", check.worst))
    rows.append(("rerun", rerun))
    return printable("\n".join(f"{name:<9} {value}" for name, value in rows))


def paired_text(test: Comparison) -> str:
    """Return the test of a comparison on one line."""
    p, p_holm, d_z, wins = effect(test)
    return f"p = {p}, Holm's p = {p_holm} of {test.hypotheses}, d_z = {d_z}, better in {wins} of the examples"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what reports need as text, which xdist carries, and replace our own tracebacks by their sentence."""
    report = yield
    if report.when == "call" and RECORD in item.stash:
        report.axioms_record, report.axioms_methods = item.stash[RECORD]  # type: ignore[attr-defined]
    stated = getattr(item, "check", None)
    if report.skipped and isinstance(report.longrepr, tuple) and isinstance(stated, Check):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        report.axioms_skipped = _skipped(item, stated, reason).model_dump_json()  # type: ignore[attr-defined]
    if call.excinfo is not None and item.get_closest_marker("axioms") is not None:
        error = call.excinfo.value
        if report.failed and isinstance(stated, Check) and RECORD not in item.stash:
            report.axioms_error = _error(item, stated, call.excinfo).model_dump_json()  # type: ignore[attr-defined]
        if isinstance(error, AxiomsError) and isinstance(stated, Check) and report.when == "call":
            report.longrepr = printable(error_text(error, stated))
        elif isinstance(error, CheckFailed | AxiomsError):
            report.longrepr = printable(str(error))
    return report


def error_text(error: AxiomsError, check: Check) -> str:
    """Return what the error says, whose first line pytest repeats in its summary, and the line of the check."""
    place = f"{display_path(check.place.file)}:{check.place.line}"
    said = str(error)
    return said if place in said else f"{said}\n{'check':<9} {place}"


def _error(item: pytest.Item, check: Check, raised: pytest.ExceptionInfo[BaseException]) -> ErrorCheck:
    """Return the record of a check that raised."""
    from axioms.record import ErrorCheck
    from axioms.run.records import identified

    error, last = raised.value, raised.traceback[-1]
    first_line = (str(error).strip().splitlines() or [""])[0]
    said = first_line if isinstance(error, AxiomsError) else f"{type(error).__name__}: {first_line}".removesuffix(": ")
    where = "" if isinstance(error, AxiomsError) else f"{display_path(Path(str(last.path)))}:{last.lineno + 1}"
    return ErrorCheck(**identified(check, item.nodeid), error=said, where=where)


def _skipped(item: pytest.Item, check: Check, reason: str) -> SkippedCheck:
    """Return the record of a check that was skipped."""
    from axioms.record import SkippedCheck

    return SkippedCheck(
        id=item.nodeid,
        spec=item.nodeid.partition("::")[0],
        label=check.label,
        axiom=check.function,
        rewrite=check.rewrite,
        reason=reason,
        not_applicable=item.stash.get(NOT_APPLICABLE, None),
    )


def _methods_json(check: CheckRecord) -> dict[str, str]:
    """Return what the methods of a check are made of, by label, as JSON."""
    from axioms.run.records import method_records

    labels = [label for label in (check.method, check.than) if label is not None]
    return {label: method.model_dump_json() for label, method in method_records(labels).items()}
