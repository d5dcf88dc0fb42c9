"""Records as tables."""

from __future__ import annotations

from typing import Any

import pytest

from axioms.report.tables import aligned, beside_paper, cell, markdown, matrix, numbers, short, show, within


def record(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "axiom": "a",
        "method": "m",
        "than": None,
        "verdict": "holds",
        "passed": True,
        "metrics": {},
        "reported": {},
    }
    return {**base, **changes}


def quantity(value: Any, interval: Any = None) -> dict[str, Any]:
    return {"value": value, "n": 5, "interval": interval}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "holds"),
        ({"passed": False}, "FAILED"),
        ({"verdict": "violated"}, "VIOLATED*"),
        ({"verdict": "recorded", "metrics": {"r.mean": quantity(0.123)}}, "0.12"),
        (
            {"verdict": "recorded", "metrics": {"left.r.mean": quantity(0.5), "right.r.mean": quantity(0.25)}},
            "0.50 / 0.25",
        ),
        ({"verdict": "recorded", "metrics": {"left.r.mean": quantity(0.5), "right.r.mean": quantity(0.5)}}, "0.50"),
    ],
)
def test_cells(changes: dict[str, Any], wanted: str) -> None:
    assert cell(record(**changes)) == wanted


def test_where_specs_meet_the_most_telling_verdict_stands() -> None:
    records = [
        record(),
        record(verdict="violated"),
        record(axiom="b"),
        record(axiom="b", passed=False),
        record(method=None),
    ]
    assert matrix(records) == (["", "a", "b"], [["m", "VIOLATED*", "FAILED"]])


def test_the_papers_number_stands_beside_ours() -> None:
    one = record(metrics={"r.mean": quantity(0.5, [0.4, 0.6])}, reported={"r.mean": 0.22})
    assert beside_paper([one])[1] == [["m", "a.r.mean", "0.5000 [0.4000, 0.6000]", "5", "0.2200"]]
    other = record(method="k", metrics={"s.mean": quantity(None)})
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
    assert show(quantity([[6, 6, 12]])) == "[6, 6, 12]"
    assert show(quantity([[1] * 20])) == "[1, 1, 1, 1, 1, 1, 1, 1, ...]"
    assert show(quantity([[1, 2], [3, 4]])) == "[1, 2, ...]"


def test_a_wide_table_comes_in_blocks() -> None:
    header, rows = ["", "one", "two", "three"], [["m", "1", "2", "3"], ["k", "1", "-", "-"]]
    assert within(100, header, rows) == aligned(header, rows)
    assert within(11, header, rows) == ["   one  two", "m  1    2", "k  1    -", "", "   three", "m  3"]
    assert within(2, header, rows)[:3] == ["   one", "m  1", "k  1"]


def test_layouts() -> None:
    header, rows = ["", "a"], [["long name", "1"], ["x", "2|3"]]
    assert aligned(header, rows) == ["           a", "long name  1", "x          2|3"]
    assert markdown(header, rows) == ["|  | a |", "| --- | --- |", "| long name | 1 |", "| x | 2\\|3 |"]
