"""A check to its result: build the subject, measure, judge, and gather what a report shows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from axioms.core.errors import AxiomsError, NotApplicable, NotDefined, UncoveredOperation
from axioms.run.cache import Cache
from axioms.run.case import Case, Report
from axioms.run.cases import Cases
from axioms.run.comparisons import measure_difference, paired_tests
from axioms.run.exhibits import accounts_by_side, examples_of
from axioms.run.measuring import measure
from axioms.run.result import Result, worst_example
from axioms.spec import Check, Run
from axioms.spec.pairs import FORWARD
from axioms.spec.references import AxiomRef
from axioms.verdict.judge import Judgement, Verdict, judge
from axioms.verdict.measure import Measurement

__all__ = ["Result", "Runner"]


class Runner:
    """Runs checks, which share subjects, attributions and measurements by one cache."""

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, report: Report | None = None, cache: Cache | None = None
    ) -> None:
        """Run with `overrides` in the place of the specs' `run` settings; a cache of its own is in memory only."""
        self._overrides = dict(overrides or {})
        self.cases = Cases(cache or Cache(), report or (lambda what, done, total: None))

    def run(self, check: Check) -> Result:
        """Return the result of one check. Errors in a model or a method are raised, not judged."""
        started = time.perf_counter()
        run = check.run.model_copy(update=self._overrides)
        try:
            result = self._result(check, run, started)
        except (NotApplicable, UncoveredOperation, NotDefined) as error:
            # A rewrite that does not apply is no refusal of the method's.
            if not check.refusal or isinstance(error, NotApplicable) is not (check.method is None):
                raise
            return _refusal(check, run, error, time.perf_counter() - started)
        if not check.refusal:
            return result
        reason = "so the claimed refusal is no longer shown"
        judgement = replace(result.judgement, passed=check.is_open, reason=reason, shows="contradicted")
        return replace(result, judgement=judgement)

    def _result(self, check: Check, run: Run, started: float) -> Result:
        case = self.cases.case(check, run)
        judgement = _inequivalence(check, case) if check.equivalence and check.function != FORWARD else None
        measurement = _measurement(check, case)
        tests = paired_tests(check, lambda member: self.cases.case(member, run))
        judgement = judgement or judge(check, measurement, run.dtype, tests)
        worst = worst_example(judgement, measurement, case.subject.data)
        examples, accounts = examples_of(check, case), accounts_by_side(check, case)
        seconds = time.perf_counter() - started
        return Result(check, run, judgement, measurement, seconds, worst, tests, examples, accounts)


def _measurement(check: Check, case: Case) -> Measurement:
    if check.comparison is not None:
        return measure_difference(case, check.comparison)
    assert check.axiom is not None
    return measure(case, check.axiom.name, check.axiom.options, check.method)


def _inequivalence(check: Check, case: Case) -> Judgement | None:
    """Return an inconclusive judgement where the models of a pair do not compute the same function."""
    forward = replace(
        check,
        axiom=AxiomRef.model_validate(FORWARD),
        expect=check.equivalence,
        violation=None,
        record=(),
        comparison=None,
    )
    judged = judge(forward, measure(case, FORWARD, {}, None), case.run.dtype)
    if judged.passed:
        return None
    reason = f"the two models are not the same function: {judged.reason}"
    return Judgement(Verdict.INCONCLUSIVE, False, reason, judged.findings, "not_shown")


def _refusal(check: Check, run: Run, error: AxiomsError, seconds: float) -> Result:
    """Return the result of a check whose method refuses, as claimed: there is nothing to measure."""
    judgement = Judgement(Verdict.REFUSED, True, str(error), (), "shown")
    bare = replace(check, expect=(), violation=None, record=(), reported={})
    return Result(bare, run, judgement, Measurement({}, {}, run.confidence, run.seed), seconds)
