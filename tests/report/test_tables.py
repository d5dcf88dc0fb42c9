"""Records as tables."""

from __future__ import annotations

from typing import Any

import pytest

from axioms.record import CheckRecord, Quantity
from axioms.report.tables import beside_paper, cell, comparisons, label, matrix, numbers
from axioms.report.text import aligned, markdown, short, show, within
from tests.records import make_check, quantity


def check(**changes: Any) -> CheckRecord:
    return make_check(**{"axiom": "a", "method": "m", **changes})


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "holds"),
        ({"passed": False}, "FAILED"),
        ({"verdict": "violated", "violation_claimed": True}, "VIOLATED*"),
        ({"verdict": "violated"}, "violated"),
        ({"verdict": "inconclusive"}, "inconclusive"),
        ({"verdict": "recorded", "metrics": {"r.mean": quantity(0.123)}}, "0.12"),
        (
            {"verdict": "recorded", "metrics": {"left.r.mean": quantity(0.5), "right.r.mean": quantity(0.25)}},
            "0.50 / 0.25",
        ),
        ({"verdict": "recorded", "metrics": {"left.r.mean": quantity(0.5), "right.r.mean": quantity(0.5)}}, "0.50"),
    ],
)
def test_cells(changes: dict[str, Any], wanted: str) -> None:
    assert cell(check(**changes)) == wanted


def test_where_specs_meet_the_most_telling_verdict_stands() -> None:
    checks = [
        check(),
        check(verdict="violated", violation_claimed=True),
        check(axiom="b"),
        check(axiom="b", passed=False),
        check(method=None),
    ]
    assert matrix(checks) == (["", "a", "b"], [["m", "VIOLATED*", "FAILED"]])


def test_the_papers_number_stands_beside_ours() -> None:
    one = check(metrics={"r.mean": quantity(0.5, [0.4, 0.6])}, reported={"r.mean": 0.22})
    assert beside_paper([one])[1] == [["m", "a.r.mean", "0.5000 [0.4000, 0.6000]", "5", "0.2200"]]
    other = check(method="k", metrics={"s.mean": quantity(float("nan"))})
    header, rows = numbers([one, other])
    assert header == ["", "r.mean", "s.mean"]
    assert rows == [["m", "0.5000 [0.4000, 0.6000]; paper 0.2200", "-"], ["k", "-", "not finite"]]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(0.0, "0.0000"), (1e-9, "1.00e-09"), (-0.5, "-0.5000"), (1e7, "1.00e+07"), (123.4, "123.4000")],
)
def test_short_numbers(value: float, wanted: str) -> None:
    assert short(value) == wanted


def test_lists_are_cut() -> None:
    assert show(Quantity(**quantity([[6, 6, 12]]))) == "[6, 6, 12]"
    assert show(Quantity(**quantity([[1] * 20]))) == "[1, 1, 1, 1, 1, 1, 1, 1, ...]"
    assert show(Quantity(**quantity([[1, 2], [3, 4]]))) == "[1, 2, ...]"


def test_a_wide_table_comes_in_blocks() -> None:
    header, rows = ["", "one", "two", "three"], [["m", "1", "2", "3"], ["k", "1", "-", "-"]]
    assert within(100, header, rows) == aligned(header, rows)
    assert within(11, header, rows) == ["   one  two", "m  1    2", "k  1    -", "", "   three", "m  3"]
    assert within(2, header, rows)[:3] == ["   one", "m  1", "k  1"]


def test_layouts() -> None:
    header, rows = ["", "a"], [["long name", "1"], ["x", "2|3"]]
    assert aligned(header, rows) == ["           a", "long name  1", "x          2|3"]
    assert markdown(header, rows) == ["|  | a |", "| --- | --- |", "| long name | 1 |", "| x | 2\\|3 |"]


def test_what_a_check_is_about() -> None:
    assert label(check()) == "m"
    assert label(check(than="k")) == "m over k"
    assert label(check(method=None, about="model")) == "the model"
    assert label(check(method=None, about="pair")) == "the pair"


def test_the_removal_is_named_where_comparisons_have_several() -> None:
    test = {"difference": 0.2, "interval": None, "n": 2, "p": 1, "p_holm": 1, "hypotheses": 2, "d_z": None, "wins": 0}
    one, other = (check(than="k", removal=kind, paired={"r.mean": test}) for kind in ("attention_mask", "delete"))
    assert [row[0] for row in comparisons([one, other])[1]] == ["m over k, attention_mask", "m over k, delete"]
    assert [row[0] for row in comparisons([one])[1]] == ["m over k"]
