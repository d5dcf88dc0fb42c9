"""What several checks show together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.record import CheckRecord
from axioms.verdict.claims import decide, numbers_of
from tests.records import make_check

COMPARED = {"method": "cp_lrp", "than": "attnlrp", "axiom": "loo_correlation"}
VERDICTS = ("shown", "contradicted", "not_shown")


def check(shows: str | None, **changes: Any) -> CheckRecord:
    return make_check(shows=shows, **changes)


@pytest.mark.parametrize(
    ("shown", "missing", "verdict"),
    [
        (["shown", "shown"], 0, "shown"),
        (["shown", "not_shown"], 0, "not_shown"),
        (["shown", "not_shown", "contradicted"], 0, "contradicted"),
        (["shown"], 1, "not_run"),
        (["contradicted"], 1, "contradicted"),
        ([], 0, "not_run"),
    ],
)
def test_a_claim_stands_while_each_check_does(shown: list[str], missing: int, verdict: str) -> None:
    assert decide([check(shows) for shows in shown], missing) == verdict


@given(st.lists(st.sampled_from(VERDICTS), min_size=1), st.integers(0, 2), st.randoms())
def test_the_order_of_checks_does_not_matter(shown: list[str], missing: int, random: Any) -> None:
    checks = [check(verdict) for verdict in shown]
    verdict = decide(checks, missing)
    random.shuffle(checks)
    assert decide(checks, missing) == verdict
    assert decide([*checks, check("contradicted")], missing) == "contradicted"


def bound(metric: str, value: Any, verdict: str = "holds") -> dict[str, Any]:
    place = {"file": "specs/a.yaml", "line": 1}
    return {
        "metric": metric,
        "bound": "> 0",
        "place": place,
        "verdict": verdict,
        "value": value,
        "n": 5,
        "interval": (0.1, 0.3),
    }


def test_the_number_that_decided_comes_first() -> None:
    checks = [
        check("shown", id="a", bounds=[bound("relative_gap.max", 0.5)]),
        check("not_shown", id="b", bounds=[bound("pearson.mean", 0.2)], **COMPARED),
        check("shown", id="c"),
    ]
    first, second = numbers_of(checks, "not_shown")
    assert (first.check, first.about, first.unit, first.is_difference) == ("b", "cp_lrp over attnlrp", "r", True)
    assert (first.metric, first.value, first.interval) == ("loo_correlation.pearson.mean", 0.2, (0.1, 0.3))
    assert (second.check, second.unit, second.is_difference) == ("a", "gap", False)


def test_a_number_is_named_by_its_methods_and_its_metric() -> None:
    def number(metric: str, **changes: Any) -> Any:
        made = check("shown", axiom="loo_correlation", bounds=[bound(metric, 0.2)], **changes)
        return numbers_of([made], "shown")[0]

    compared = number("left.pearson.mean", method="cp_lrp", than="attnlrp")
    assert (compared.about, compared.is_difference) == ("cp_lrp over attnlrp", True)
    assert (compared.metric, compared.unit) == ("loo_correlation.left.pearson.mean", "r")
    alone = number("mine.max", method="cp_lrp", than=None)
    assert (alone.about, alone.is_difference, alone.unit) == ("cp_lrp", False, "mine")
    assert number("scores", method=None, than=None).about == ""
    assert number("left.mean", method="loo", than=None).unit == "R"
    assert (alone.value, alone.n, alone.interval) == (0.2, 5, (0.1, 0.3))
    assert number("outer.inner.max", method="loo", than=None).unit == "inner"
    assert number("outer.right.pearson.median", method="loo", than=None).unit == "r"


def test_a_unit_is_the_last_part_of_a_metric_that_is_no_aggregate() -> None:
    made = check("shown", axiom="sweep", bounds=[bound("by_layer.mine.mean", 0.2)])
    assert numbers_of([made], "shown")[0].unit == "mine"
    first = check("shown", axiom="sweep", bounds=[bound("scores", [1.0, 2.0]), bound("pearson.mean", 0.3)])
    assert numbers_of([first], "shown")[0].value == 0.3, "of several bounds, the first that has a number"


def test_the_number_of_a_check_is_that_of_its_first_bound_that_has_one() -> None:
    bounds = [bound("scores", [1.0, 2.0]), bound("ratio.mean", 0.25), bound("pearson.mean", 0.5)]
    (number,) = numbers_of([check("shown", bounds=bounds)], "shown")
    assert (number.value, number.unit) == (0.25, "sum/f")
    (listed,) = numbers_of([check("shown", bounds=bounds[:1])], "shown")
    assert listed.unit == "R"


def test_unless_it_is_said_no_check_is_missing() -> None:
    assert decide([check("shown")]) == "shown"
    assert decide([check("not_shown")]) == "not_shown"
    assert decide([]) == "not_run"
