"""From numbers to verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from axioms.core.lazy import np
from axioms.record import ClaimVerdict
from axioms.spec import Bound, Check, PlacedBound
from axioms.verdict.measure import Measurement, Quantity
from axioms.verdict.statistics import PairedTest, finite_ends

ROUNDING = {"float64": 0.0, "float32": 1e-4, "float16": 5e-2, "bfloat16": 5e-2}
"""The tolerance, in each dtype, of a bound that stands for zero."""
EQUALS_TOLERANCE = 1e-9
"""Absolute tolerance of `equals` in float64 where a spec states none, times the largest expected number."""


class Verdict(StrEnum):
    """What a check shows. Only `inconclusive` always fails; `recorded` is measured and not judged.

    `refused` is a method that has no rule for an operation, or a rewrite that does not apply, as claimed.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    RECORDED = "recorded"
    REFUSED = "refused"


SHOWS: dict[Verdict, ClaimVerdict] = {
    Verdict.HOLDS: "shown",
    Verdict.VIOLATED: "contradicted",
    Verdict.INCONCLUSIVE: "not_shown",
}
"""What the verdict of a bound says of a claim that the bound holds."""


@dataclass(frozen=True)
class Finding:
    """One bound and what was measured against it."""

    metric: str
    bound: Bound
    stated: PlacedBound
    quantity: Quantity
    verdict: Verdict
    reason: str
    test: PairedTest | None = None
    """Of a comparison."""


@dataclass(frozen=True)
class Judgement:
    """The verdict of a check, whether it passes, and why."""

    verdict: Verdict
    passed: bool
    reason: str
    findings: tuple[Finding, ...]
    """The bounds that decided it."""
    shows: ClaimVerdict | None = None
    """What it says of a claim that it decides; None where nothing is judged."""


def judge(
    check: Check, measurement: Measurement, dtype: str, tests: Mapping[str, PairedTest] | None = None
) -> Judgement:
    """Compare every bound of the check with what was measured; `tests` are those of a comparison, by metric."""
    judged = _judge(check, measurement, dtype, tests)
    if judged.passed or not check.is_open or not all(finding.quantity.finite for finding in judged.findings):
        return judged
    return replace(judged, passed=True, reason=f"an open question: {judged.reason}")


def _judge(check: Check, measurement: Measurement, dtype: str, tests: Mapping[str, PairedTest] | None) -> Judgement:
    if check.comparison is not None:
        return _judge_comparison(check, measurement, tests or {}, check.comparison.confidence)
    broken = [name for name in check.record if not measurement.quantity(name).finite]
    if broken:
        return Judgement(Verdict.INCONCLUSIVE, False, f"{broken[0]} is not finite", ())
    expected = tuple(_find(check, placed, measurement, dtype) for placed in check.expect)
    if not expected:
        return Judgement(Verdict.RECORDED, True, "measured, not judged", ())
    if check.violation is None:
        return _judge_expectation(expected)
    return _judge_violation(check, measurement, dtype, expected)


def _judge_expectation(expected: tuple[Finding, ...]) -> Judgement:
    """Return the verdict of all bounds together; the check passes where it is `holds`."""
    verdict = _combined(expected)
    deciding = tuple(finding for finding in expected if finding.verdict is verdict)
    return Judgement(verdict, verdict is Verdict.HOLDS, _reasons(deciding), deciding, SHOWS[verdict])


def _judge_comparison(
    check: Check, measurement: Measurement, tests: Mapping[str, PairedTest], confidence: float
) -> Judgement:
    """Return the verdict of a comparison; one that is only recorded passes wherever its numbers are finite."""
    findings = []
    for placed in check.expect:
        quantity, test = measurement.quantity(placed.metric), tests[placed.metric]
        verdict, reason = compare_paired(placed.bound, quantity, test, confidence)
        reason = f"the difference in {placed.metric} {reason}"
        findings.append(Finding(placed.metric, placed.bound, placed, quantity, verdict, reason, test))
    judged = _judge_expectation(tuple(findings))
    if check.comparison is None or not check.comparison.recorded:
        return judged
    if not all(finding.quantity.finite for finding in findings):
        return judged
    return replace(judged, verdict=Verdict.RECORDED, passed=True, reason=f"measured, not judged: {judged.reason}")


def _judge_violation(check: Check, measurement: Measurement, dtype: str, expected: tuple[Finding, ...]) -> Judgement:
    """Return the verdict of a violation claim: it passes while the violation is shown and has the claimed size."""
    verdict = _combined(expected)
    if verdict is Verdict.HOLDS:
        return Judgement(verdict, False, "so the claimed violation is no longer shown", expected, "contradicted")
    if verdict is Verdict.INCONCLUSIVE:
        deciding = tuple(finding for finding in expected if finding.verdict is verdict)
        return Judgement(verdict, False, _reasons(deciding), deciding, "not_shown")
    claimed = tuple(_find(check, placed, measurement, dtype) for placed in check.violation or ())
    off = tuple(finding for finding in claimed if finding.verdict is not Verdict.HOLDS)
    if off:
        return Judgement(verdict, False, f"but not as claimed: {_reasons(off)}", off, SHOWS[_combined(off)])
    shown = tuple(finding for finding in expected if finding.verdict is Verdict.VIOLATED)
    return Judgement(verdict, True, "as claimed", shown, "shown")


def _reasons(findings: tuple[Finding, ...]) -> str:
    return "; ".join(finding.reason for finding in findings)


def _find(check: Check, placed: PlacedBound, measurement: Measurement, dtype: str) -> Finding:
    """Return one bound with what was measured against it."""
    quantity = measurement.quantity(placed.metric)
    bound = effective_bound(check, placed, dtype)
    verdict, reason = compare(bound, quantity)
    if bound != placed.bound:
        reason += f" (bound widened to {bound} for {dtype})"
    return Finding(placed.metric, bound, placed, quantity, verdict, f"{placed.metric} {reason}")


def effective_bound(check: Check, placed: PlacedBound, dtype: str) -> Bound:
    """Return the stated bound, with a tolerance that the run's dtype can meet."""
    from axioms.core.registry import AXIOMS
    from axioms.spec.metrics import split_metric

    bound = placed.bound
    if bound.equals is not None and bound.abs is None:
        bound = bound.widened(EQUALS_TOLERANCE)
    assert check.axiom is not None, "a comparison is judged by its interval and its test"
    axiom = AXIOMS.get(check.axiom.name)
    metric = axiom.metrics[split_metric(axiom, placed.metric)[1]]
    has_tolerance = bound.comparator in ("approx", "equals")
    return bound.widened(ROUNDING[dtype]) if metric.rounding or has_tolerance else bound


def compare(bound: Bound, quantity: Quantity) -> tuple[Verdict, str]:
    """Tell whether the value, or its whole interval, lies inside the bound, outside it, or across it."""
    if not quantity.finite:
        return Verdict.INCONCLUSIVE, "is not finite"
    if bound.equals is not None:
        return _compare_lists(bound, quantity)
    low, high = quantity.interval or (float(quantity.value), float(quantity.value))  # type: ignore[arg-type]
    least, most, least_in, most_in = bound.region()
    above = low >= least if least_in else low > least
    below = high <= most if most_in else high < most
    if above and below:
        return Verdict.HOLDS, f"is {bound}"
    too_low = high < least if least_in else high <= least
    too_high = low > most if most_in else low >= most
    if too_low or too_high:
        return Verdict.VIOLATED, f"is not {bound}"
    return Verdict.INCONCLUSIVE, f"may or may not be {bound}: the interval [{low:.4g}, {high:.4g}] straddles it"


def compare_paired(bound: Bound, quantity: Quantity, test: PairedTest, confidence: float) -> tuple[Verdict, str]:
    """Tell whether a difference lies inside the bound or outside: by its interval, and by the corrected test.

    What contradicts a claim needs the same evidence as what shows it. An interval that contains the bound itself shows
    nothing either way, so equal methods are never a win.
    """
    verdict, reason = compare(bound, quantity)
    if not quantity.finite:
        return verdict, reason
    if quantity.interval is None:
        return Verdict.INCONCLUSIVE, "is of one example, which shows nothing about a mean"
    low, high = quantity.interval
    within = [end for end in finite_ends(bound) if low <= end <= high]
    if within:
        return (
            Verdict.INCONCLUSIVE,
            f"may or may not be {bound}: the interval [{low:.4g}, {high:.4g}] contains {within[0]:g}",
        )
    level = 1 - confidence
    if verdict is not Verdict.INCONCLUSIVE and test.p_holm > level + 1e-12:
        what = f"is not shown to be {bound}" if verdict is Verdict.HOLDS else f"is not shown not to be {bound}"
        return Verdict.INCONCLUSIVE, f"{what}: Holm's p = {test.p_holm:.3g}, above {level:.3g}"
    return verdict, reason


def _compare_lists(bound: Bound, quantity: Quantity) -> tuple[Verdict, str]:
    wanted, measured = np.asarray(bound.equals), np.asarray(quantity.value)
    if wanted.ndim == 1 and measured.ndim == 2 and measured.shape[0] == 1:
        measured = measured[0]
    if wanted.shape != measured.shape:
        return Verdict.VIOLATED, f"has shape {measured.shape}, and {wanted.shape} is expected"
    if bool((np.abs(wanted - measured) <= (bound.abs or 0.0)).all()):
        return Verdict.HOLDS, "is as expected"
    off = np.unravel_index(int(np.abs(wanted - measured).argmax()), wanted.shape)
    return Verdict.VIOLATED, f"is off by {abs(wanted[off] - measured[off]):.3g} at {tuple(map(int, off))}"


def _combined(findings: tuple[Finding, ...]) -> Verdict:
    """Return the worst verdict of several bounds."""
    verdicts = {finding.verdict for finding in findings}
    for verdict in (Verdict.VIOLATED, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS
