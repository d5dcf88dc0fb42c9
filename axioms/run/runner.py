"""A check to its result: build the subject, measure, judge, and gather what a report shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from axioms.core.errors import AxiomsError, NotApplicable, NotDefined, UncoveredOperation
from axioms.record import Example
from axioms.run.address import Address
from axioms.run.answers import Answers, Executor
from axioms.run.cache import Cache
from axioms.run.case import Report
from axioms.run.comparisons import Comparisons
from axioms.run.exhibits import accounts_by_side, chosen_examples
from axioms.run.in_process import InProcess
from axioms.run.measuring import measure
from axioms.run.plan import Plan
from axioms.run.requests import accounts_request, examples_request
from axioms.run.result import Result, worst_example
from axioms.run.worker import Worker
from axioms.spec import Check, Run
from axioms.spec.pairs import FORWARD
from axioms.spec.references import AxiomRef
from axioms.verdict.judge import Judgement, Verdict, judge
from axioms.verdict.measure import Measurement

__all__ = ["Result", "Runner"]


Start = Callable[[Answers, Plan, Report], Executor]
"""What makes an executor, which keeps answers, knows the plan and reports progress."""


def in_this_process(answers: Answers, plan: Plan, report: Report) -> Executor:
    """Compute in this process."""
    return InProcess(Worker(report), answers, plan)


class Runner:
    """Runs checks, which share subjects, attributions and measurements."""

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        report: Report | None = None,
        cache: Cache | None = None,
        planned: Iterable[Check] = (),
        start: Start = in_this_process,
    ) -> None:
        """Run with `overrides` in the place of the specs' `run` settings; without a cache, nothing is on disk.

        `planned` are the checks that will be run: while a shard is held, all that they ask of it is answered. `start`
        makes who computes.
        """
        self._plan = Plan(planned, overrides)
        quiet: Report = lambda what, done, total: None  # noqa: E731
        self.executor: Executor = start(Answers(cache or Cache()), self._plan, report or quiet)
        self._comparisons = Comparisons(self.executor)

    def run(self, check: Check) -> Result:
        """Return the result of one check. Errors in a model or a method are raised, not judged."""
        started = time.perf_counter()
        address = self._plan.address(check)
        run = address.run
        try:
            result = self._result(check, address, started)
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

    def _result(self, check: Check, address: Address, started: float) -> Result:
        opened = self.executor.open(address)
        judgement = self._inequivalence(check, address) if check.equivalence and check.function != FORWARD else None
        measurement = self._measurement(check, address)
        tests = self._comparisons.tests(check, address)
        judgement = judgement or judge(check, measurement, address.run.dtype, tests)
        worst = worst_example(judgement, measurement, opened.names)
        examples, accounts = self._examples(check, address), self._accounts(check, address)
        seconds = time.perf_counter() - started
        return Result(check, address.run, judgement, measurement, seconds, worst, tests, examples, accounts)

    def _measurement(self, check: Check, address: Address) -> Measurement:
        if check.comparison is not None:
            return self._comparisons.difference(address, check.comparison)
        assert check.axiom is not None
        return measure(self.executor, address, check.axiom.name, check.axiom.options, check.method)

    def _examples(self, check: Check, address: Address) -> list[Example]:
        request = examples_request(check, self.executor.open(address))
        return [] if request is None else chosen_examples(request.axiom, self.executor.answers(address, request))

    def _accounts(self, check: Check, address: Address) -> dict[str, dict[str, Any]]:
        request = accounts_request(check)
        return {} if request is None else accounts_by_side(self.executor.answers(address, request))

    def _inequivalence(self, check: Check, address: Address) -> Judgement | None:
        """Return an inconclusive judgement where the models of a pair do not compute the same function."""
        forward = replace(
            check,
            axiom=AxiomRef.model_validate(FORWARD),
            expect=check.equivalence,
            violation=None,
            record=(),
            comparison=None,
        )
        judged = judge(forward, measure(self.executor, address, FORWARD, {}, None), address.run.dtype)
        if judged.passed:
            return None
        reason = f"the two models are not the same function: {judged.reason}"
        return Judgement(Verdict.INCONCLUSIVE, False, reason, judged.findings, "not_shown")


def _refusal(check: Check, run: Run, error: AxiomsError, seconds: float) -> Result:
    """Return the result of a check whose method refuses, as claimed: there is nothing to measure."""
    judgement = Judgement(Verdict.REFUSED, True, str(error), (), "shown")
    bare = replace(check, expect=(), violation=None, record=(), reported={})
    return Result(bare, run, judgement, Measurement({}, {}, run.confidence, run.seed), seconds)
