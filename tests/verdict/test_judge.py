"""Numbers to verdicts, both ways."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from axioms.spec import Bound, Check, PlacedBound, expand_file
from axioms.spec.check import Comparison
from axioms.verdict.judge import Judgement, Verdict, compare, compare_paired, effective_bound, judge
from axioms.verdict.measure import Measurement, Quantity
from axioms.verdict.statistics import PairedTest

HOLDS, VIOLATED, INCONCLUSIVE = Verdict.HOLDS, Verdict.VIOLATED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (Bound(lt=1), [0.999], [1, 2]),
        (Bound(le=1), [1, 0], [1.001]),
        (Bound(gt=1), [1.001], [1, 0]),
        (Bound(ge=1), [1, 2], [0.999]),
        (Bound(approx=1, abs=0.5), [0.5, 1, 1.5], [0.49, 1.51]),
        (Bound(between=(1, 2)), [1, 1.5, 2], [0.99, 2.01]),
    ],
)
def test_points(bound: Bound, inside: list[float], outside: list[float]) -> None:
    assert [compare(bound, Quantity(value, 1))[0] for value in inside] == [HOLDS] * len(inside)
    assert [compare(bound, Quantity(value, 1))[0] for value in outside] == [VIOLATED] * len(outside)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.6, 0.7), HOLDS),
        ((0.5, 0.7), HOLDS),
        ((0.4, 0.6), INCONCLUSIVE),
        ((0.4, 0.5), INCONCLUSIVE),
        ((0.3, 0.4), VIOLATED),
    ],
)
def test_the_interval_of_a_mean_decides(interval: tuple[float, float], verdict: Verdict) -> None:
    shown, reason = compare(Bound(ge=0.5), Quantity(sum(interval) / 2, 10, interval))
    assert shown is verdict
    assert ("straddles" in reason) == (verdict is INCONCLUSIVE)


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10))
def test_a_bound_and_its_opposite_never_both_hold(threshold: float, one: float, other: float) -> None:
    assume(one <= other)
    quantity = Quantity((one + other) / 2, 5, (one, other))
    opposites = {HOLDS: VIOLATED, VIOLATED: HOLDS, INCONCLUSIVE: INCONCLUSIVE}
    assert compare(Bound(lt=threshold), quantity)[0] is opposites[compare(Bound(ge=threshold), quantity)[0]]
    assert compare(Bound(le=threshold), quantity)[0] is opposites[compare(Bound(gt=threshold), quantity)[0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_shows_nothing(bad: float) -> None:
    assert compare(Bound(le=1), Quantity(bad, 3))[0] is INCONCLUSIVE
    assert compare(Bound(equals=[1.0, 2.0]), Quantity([1.0, bad], 1))[0] is INCONCLUSIVE


def test_lists() -> None:
    bound = Bound(equals=[1.0, 2.0], abs=0.1)
    assert compare(bound, Quantity([[1.05, 2.0]], 1))[0] is HOLDS
    assert compare(bound, Quantity([[1.2, 2.0]], 1)) == (VIOLATED, "is off by 0.2 at (0,)")
    assert compare(bound, Quantity([[1.0, 2.0, 3.0]], 1))[0] is VIOLATED
    assert compare(Bound(equals=[[1.0], [2.0]], abs=0.0), Quantity([[1.0], [2.0]], 2))[0] is HOLDS


@pytest.fixture
def check(write_spec: Callable[..., Path]) -> Check:
    return expand_file(write_spec()).checks[0]


def judged(check: Check, errors: list[float], dtype: str = "float64") -> Judgement:
    values = {"relative_error": np.array(errors), "ratio": 1 - np.array(errors)}
    return judge(check, Measurement(values, {"relative_error": "per_example", "ratio": "per_example"}, 0.95, 0), dtype)


def claim(check: Check, **bounds: Bound) -> Check:
    placed = tuple(PlacedBound(name.replace("_max", ".max"), bound, check.place) for name, bound in bounds.items())
    return replace(check, violation=placed)


def test_expectations(check: Check) -> None:
    good, bad = judged(check, [0, 1e-10]), judged(check, [0, 1e-8])
    assert (good.verdict, good.passed) == (HOLDS, True)
    assert (bad.verdict, bad.passed) == (VIOLATED, False)
    assert bad.findings[0].quantity.worst == 1


def test_a_violation_claim_passes_only_while_the_violation_is_shown(check: Check) -> None:
    violated = judged(claim(check, ratio_max=Bound(approx=0.5, abs=0.01)), [0.5, 0.5])
    assert (violated.verdict, violated.passed) == (VIOLATED, True)
    wrong_size = judged(claim(check, ratio_max=Bound(approx=0.5, abs=0.01)), [0.3, 0.3])
    assert (wrong_size.verdict, wrong_size.passed) == (VIOLATED, False)
    assert "not as claimed" in wrong_size.reason
    holds = judged(claim(check), [0.0, 0.0])
    assert (holds.verdict, holds.passed) == (HOLDS, False)
    assert "no longer shown" in holds.reason
    unclear = judged(claim(check), [0.0, math.nan])
    assert (unclear.verdict, unclear.passed) == (INCONCLUSIVE, False)


def test_a_record_is_not_judged_but_must_be_a_number(check: Check) -> None:
    recorded = replace(check, expect=(), record=("ratio.mean",))
    assert judged(recorded, [5.0, 6.0]).verdict is Verdict.RECORDED
    assert judged(recorded, [5.0, math.nan]).passed is False


def test_an_open_question_passes_whatever_the_answer_if_it_is_a_number(check: Check) -> None:
    asked = replace(check, is_open=True)
    answers = judged(asked, [0.0, 0.0]), judged(asked, [0.5, 0.5]), judged(asked, [0.5, math.nan])
    assert [answer.passed for answer in answers] == [True, True, False]
    assert [answer.verdict for answer in answers] == [HOLDS, VIOLATED, INCONCLUSIVE]
    assert ["open question" in answer.reason for answer in answers] == [False, True, False]
    bounds = tuple(PlacedBound(f"{name}.max", Bound(le=1e-9), check.place) for name in ("relative_error", "ratio"))
    values = {"relative_error": np.array([0.5]), "ratio": np.array([math.nan])}
    kinds = dict.fromkeys(values, "per_example")
    partly = judge(replace(asked, expect=bounds[1:]), Measurement(values, kinds, 0.95, 0), "float64")
    assert not partly.passed


def test_all_bounds_decide_and_the_worst_is_named(check: Check) -> None:
    def expecting(error: float, ratio: float) -> Judgement:
        bounds = {"relative_error.max": Bound(le=error), "ratio.max": Bound(le=ratio)}
        placed = tuple(PlacedBound(name, bound, check.place) for name, bound in bounds.items())
        return judged(replace(check, expect=placed), [0.5, 0.5])

    assert expecting(0.6, 0.6).verdict is HOLDS
    one, both = expecting(0.6, 0.4), expecting(0.4, 0.4)
    assert (one.verdict, [finding.metric for finding in one.findings]) == (VIOLATED, ["ratio.max"])
    assert (both.verdict, both.reason.count(";")) == (VIOLATED, 1)
    assert one.shows == "contradicted"
    assert expecting(0.6, 0.6).shows == "shown"


def test_what_a_violation_claim_shows(check: Check) -> None:
    size = {"ratio_max": Bound(approx=0.5, abs=0.01)}
    assert judged(claim(check, **size), [0.5, 0.5]).shows == "shown"
    assert judged(claim(check, **size), [0.3, 0.3]).shows == "contradicted", "violated, by another amount"
    assert judged(claim(check), [0.0, 0.0]).shows == "contradicted"
    assert judged(claim(check), [0.0, math.nan]).shows == "not_shown"


@pytest.mark.parametrize(("dtype", "passes"), [("float64", False), ("float32", True), ("bfloat16", True)])
def test_a_bound_that_stands_for_zero_widens_with_the_dtype(check: Check, dtype: str, passes: bool) -> None:
    judgement = judged(check, [0, 5e-5], dtype)
    assert judgement.passed is passes
    assert ("widened" in judgement.reason) is (dtype != "float64")


def test_a_bound_on_an_ordinary_metric_does_not_widen(check: Check) -> None:
    ordinary = replace(check, expect=(PlacedBound("ratio.max", Bound(le=1e-9), check.place),))
    assert judged(ordinary, [1 - 5e-5], "bfloat16").verdict is VIOLATED


def test_lists_have_a_tolerance_of_their_own(check: Check) -> None:
    """`equals` without `abs` allows 1e-9 times the largest expected number, and the dtype's rounding."""
    equal = replace(check, expect=(PlacedBound("ratio", Bound(equals=[1.0, 200.0]), check.place),))
    for dtype, off, passes in (("float64", 1e-7, True), ("float64", 3e-7, False), ("float32", 1e-5, True)):
        measurement = Measurement({"ratio": np.array([[1.0, 200.0 + off]])}, {"ratio": "vector"}, 0.95, 0)
        assert judge(equal, measurement, dtype).passed is passes


def paired(p_holm: float) -> PairedTest:
    return PairedTest(p=p_holm, p_holm=p_holm, hypotheses=1, d_z=1.0, wins=1.0)


@pytest.mark.parametrize(
    ("bound", "interval", "p_holm", "verdict", "said"),
    [
        (Bound(gt=0), (0.1, 0.3), 0.05, HOLDS, "is > 0"),
        (Bound(gt=0), (0.1, 0.3), 0.06, INCONCLUSIVE, "Holm's p = 0.06, above 0.05"),
        (Bound(gt=0), (-0.1, 0.3), 0.01, INCONCLUSIVE, "contains 0"),
        (Bound(gt=0), (-0.3, -0.1), 0.05, VIOLATED, "is not > 0"),
        (Bound(gt=0), (-0.3, -0.1), 0.06, INCONCLUSIVE, "is not shown not to be > 0: Holm's p = 0.06, above 0.05"),
        (Bound(approx=0, abs=0.1), (0.2, 0.3), 0.06, INCONCLUSIVE, "is not shown not to be = 0"),
        (Bound(gt=0.2), (0.1, 0.3), 0.001, INCONCLUSIVE, "contains 0.2"),
        (Bound(lt=0), (-0.3, -0.1), 0.01, HOLDS, "is < 0"),
        (Bound(ge=0), (0.0, 0.0), 0.01, INCONCLUSIVE, "contains 0"),
        (Bound(le=0), (0.0, 0.0), 0.01, INCONCLUSIVE, "contains 0"),
        (Bound(approx=0, abs=0.1), (-0.05, 0.05), 0.01, HOLDS, "is = 0"),
        (Bound(approx=0, abs=0.1), (-0.05, 0.15), 0.01, INCONCLUSIVE, "contains 0.1"),
        (Bound(gt=0), None, 0.01, INCONCLUSIVE, "one example"),
    ],
)
def test_a_difference_needs_its_interval_and_its_test(
    bound: Bound, interval: tuple[float, float] | None, p_holm: float, verdict: Verdict, said: str
) -> None:
    value = 0.2 if interval is None else sum(interval) / 2
    shown, reason = compare_paired(bound, Quantity(value, 10, interval), paired(p_holm), 0.95)
    assert shown is verdict
    assert said in reason


def test_a_difference_that_is_not_finite_shows_nothing() -> None:
    answer = compare_paired(Bound(gt=0), Quantity(math.nan, 10), paired(0.01), 0.95)
    assert answer == (INCONCLUSIVE, "is not finite")


@pytest.mark.parametrize(
    ("metric", "bound", "dtype", "wanted"),
    [
        ("relative_error.max", Bound(le=0), "float64", Bound(le=0)),
        ("relative_error.max", Bound(le=0), "float32", Bound(le=1e-4)),
        ("relative_error.max", Bound(le=1e-9), "float16", Bound(le=5e-2)),
        ("relative_error.max", Bound(le=0.1), "bfloat16", Bound(le=0.1)),
        ("ratio.max", Bound(le=0), "float32", Bound(le=0)),
        ("ratio.max", Bound(approx=2, abs=0.0), "float64", Bound(approx=2, abs=0.0)),
        ("ratio.max", Bound(approx=2, abs=0.0), "float32", Bound(approx=2, abs=2e-4)),
        ("ratio", Bound(equals=[3.0]), "float64", Bound(equals=[3.0], abs=3e-9)),
        ("ratio", Bound(equals=[3.0], abs=1e-12), "float64", Bound(equals=[3.0], abs=1e-12)),
        ("ratio", Bound(equals=[3.0], abs=1e-12), "float32", Bound(equals=[3.0], abs=3e-4)),
        ("ratio", Bound(equals=[3.0]), "float32", Bound(equals=[3.0], abs=3e-4)),
    ],
)
def test_a_bound_is_no_tighter_than_the_dtype(
    check: Check, metric: str, bound: Bound, dtype: str, wanted: Bound
) -> None:
    found = effective_bound(check, PlacedBound(metric, bound, check.place), dtype)
    assert found.comparator == wanted.comparator
    assert getattr(found, found.comparator) == getattr(wanted, wanted.comparator)
    assert found.abs == pytest.approx(wanted.abs)


def test_a_comparison_has_no_bound_that_widens(check: Check) -> None:
    """Not even where rounding is as large as the bound: its interval says how well a difference is known."""
    assert check.method is not None
    placed = PlacedBound("relative_error.mean", Bound(le=1e-3), check.place)
    with pytest.raises(AssertionError, match="a comparison is judged by its interval and its test"):
        effective_bound(check.but(axiom=None), placed, "bfloat16")
    comparison = Comparison("conservation", {}, check.method, check.method, 0.95)
    compared = check.but(axiom=None, comparison=comparison, expect=(placed,))
    measurement = Measurement(
        {"relative_error": np.array([0.01, 0.02, 0.03])}, {"relative_error": "per_example"}, 0.95, 0
    )
    judgement = judge(compared, measurement, "bfloat16", {placed.metric: paired(0.01)})
    assert (judgement.verdict, judgement.findings[0].bound) == (VIOLATED, placed.bound)


def test_a_comparison_that_is_only_recorded_is_not_judged(check: Check) -> None:
    def answer(recorded: bool, differences: list[float]) -> Judgement:
        placed = (PlacedBound("ratio.mean", Bound(gt=0), check.place),)
        assert check.method is not None
        comparison = Comparison("conservation", {}, check.method, check.method, 0.95, recorded)
        compared = replace(check, comparison=comparison, expect=placed)
        measurement = Measurement({"ratio": np.array(differences)}, {"ratio": "per_example"}, 0.95, 0)
        return judge(compared, measurement, "float64", {"ratio.mean": paired(0.01)})

    better, worse, unknown = [1.0, 1.1, 1.2], [-1.0, -1.1, -1.2], [1.0, math.nan]
    judged = [answer(False, differences) for differences in (better, worse, unknown)]
    assert [one.verdict for one in judged] == [HOLDS, VIOLATED, INCONCLUSIVE]
    assert [one.passed for one in judged] == [True, False, False]
    assert judged[0].reason.startswith("the difference in ratio.mean is > 0")
    kept = [answer(True, differences) for differences in (better, worse, unknown)]
    assert [one.verdict for one in kept] == [Verdict.RECORDED, Verdict.RECORDED, INCONCLUSIVE]
    assert [one.passed for one in kept] == [True, True, False]
    assert [one.shows for one in kept] == ["shown", "contradicted", "not_shown"]
    assert kept[1].reason.startswith("measured, not judged: the difference in ratio.mean is not > 0")


def test_lists_of_another_shape_are_not_compared() -> None:
    for measured in ([[1.0, 2.0], [1.0, 2.0]], [1.0], [[1.0], [2.0]]):
        assert compare(Bound(equals=[1.0, 2.0], abs=9.0), Quantity(measured, 1))[0] is VIOLATED
    assert compare(Bound(equals=[[1.0, 2.0]], abs=0.0), Quantity([[1.0, 2.0]], 1))[0] is HOLDS
    verdict, reason = compare(Bound(equals=[[1.0, 2.0], [3.0, 4.0]]), Quantity([[1.0, 2.1], [3.0, 4.5]], 2))
    assert (verdict, reason) == (VIOLATED, "is off by 0.5 at (1, 1)")
    assert compare(Bound(equals=[1.0], abs=0.5), Quantity([1.5], 1))[0] is HOLDS


def test_a_violation_is_shown_by_the_bounds_that_are_violated(check: Check) -> None:
    bounds = {"relative_error.max": Bound(le=0.1), "ratio.max": Bound(le=0.9)}
    expect = tuple(PlacedBound(name, bound, check.place) for name, bound in bounds.items())
    shown = judged(replace(claim(check), expect=expect), [0.5, 0.5])
    assert (shown.verdict, shown.passed, shown.reason) == (VIOLATED, True, "as claimed")
    assert [finding.metric for finding in shown.findings] == ["relative_error.max"]


def test_an_open_question_is_no_answer_where_one_of_its_numbers_is_none(check: Check) -> None:
    bounds = tuple(PlacedBound(f"{name}.max", Bound(le=0.1), check.place) for name in ("relative_error", "ratio"))
    asked = replace(check, is_open=True, expect=bounds)
    kinds = dict.fromkeys(("relative_error", "ratio"), "per_example")

    def answer(error: float, ratio: float) -> Judgement:
        values = {"relative_error": np.array([error]), "ratio": np.array([ratio])}
        return judge(asked, Measurement(values, kinds, 0.95, 0), "float64")

    assert answer(0.5, 0.5).passed
    asked = replace(asked, expect=tuple(PlacedBound(f"{name}.mean", Bound(le=0.1), check.place) for name in kinds))
    values = {"relative_error": np.array([0.0, 0.2, 0.0, 0.2]), "ratio": np.array([math.nan, 0.5, 0.5, 0.5])}
    one = judge(asked, Measurement(values, kinds, 0.95, 0), "float64")
    assert len(one.findings) == 2  # both say nothing: one straddles its bound, the other is no number
    assert not one.passed
    asked = replace(asked, expect=bounds)
    both = answer(math.nan, math.inf)
    assert len(both.findings) == 2
    assert not both.passed


def test_an_open_question_is_no_answer_where_one_number_is_none_and_another_is_unclear(check: Check) -> None:
    """Neither bound is decided: the mean of one lies across it, and the other is no number at all."""
    bounds = (
        PlacedBound("ratio.mean", Bound(le=0.5), check.place),
        PlacedBound("relative_error.max", Bound(le=0.5), check.place),
    )
    asked = replace(check, is_open=True, expect=bounds)
    kinds = dict.fromkeys(("relative_error", "ratio"), "per_example")

    def answer(errors: list[float]) -> Judgement:
        values = {"relative_error": np.array(errors), "ratio": np.array([0.0, 1.0, 0.1, 0.9])}
        return judge(asked, Measurement(values, kinds, 0.95, 0), "float64")

    unclear = answer([0.1, 0.2, 0.1, 0.2])
    assert (unclear.verdict, unclear.passed, len(unclear.findings)) == (INCONCLUSIVE, True, 1)
    assert unclear.reason.startswith("an open question: ratio.mean may or may not be")
    nothing = answer([0.1, math.nan, 0.1, 0.2])
    assert (nothing.verdict, nothing.passed, len(nothing.findings)) == (INCONCLUSIVE, False, 2)
    assert nothing.reason.endswith("straddles it; relative_error.max is not finite")


def test_what_is_only_recorded_passes_and_shows_nothing(check: Check) -> None:
    recorded = judged(replace(check, expect=(), record=("ratio.mean",)), [5.0, 6.0])
    assert (recorded.verdict, recorded.passed, recorded.findings, recorded.shows) == (Verdict.RECORDED, True, (), None)


def test_a_violation_that_is_unclear_names_the_bounds_that_are(check: Check) -> None:
    """One bound holds and the other is no number: the second alone keeps the violation from being shown."""
    bounds = {"relative_error.max": Bound(le=1.0), "ratio.max": Bound(le=0.1)}
    expect = tuple(PlacedBound(name, bound, check.place) for name, bound in bounds.items())
    values = {"relative_error": np.array([0.5, 0.5]), "ratio": np.array([math.nan, 0.5])}
    measurement = Measurement(values, dict.fromkeys(values, "per_example"), 0.95, 0)
    unclear = judge(replace(claim(check), expect=expect), measurement, "float64")
    assert (unclear.verdict, unclear.passed, unclear.shows) == (INCONCLUSIVE, False, "not_shown")
    assert [finding.metric for finding in unclear.findings] == ["ratio.max"]
    assert unclear.reason == "ratio.max is not finite"


def test_a_recorded_comparison_needs_every_number(check: Check) -> None:
    """One metric that is a number does not make up for another that is none; and each finding says which it is."""
    assert check.method is not None
    placed = tuple(PlacedBound(f"{name}.mean", Bound(gt=0), check.place) for name in ("relative_error", "ratio"))
    comparison = Comparison("conservation", {}, check.method, check.method, 0.95, True)
    values = {"relative_error": np.array([1.0, 1.1, 1.2]), "ratio": np.array([1.0, math.nan, 1.2])}
    measurement = Measurement(values, dict.fromkeys(values, "per_example"), 0.95, 0)
    tests = {one.metric: paired(0.01) for one in placed}
    found = judge(replace(check, comparison=comparison, expect=placed), measurement, "float64", tests)
    assert (found.verdict, found.passed) == (INCONCLUSIVE, False)
    assert [(one.metric, one.bound) for one in found.findings] == [("ratio.mean", Bound(gt=0))]
