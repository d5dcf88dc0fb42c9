"""The figure of LOO r against cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from axioms.report.pareto import Point, front, points, save_pareto


def record(axiom: str, method: str, spec: str = "specs/a.yaml", **metrics: Any) -> dict[str, Any]:
    quantities = {
        name.replace("__", "."): {"value": value, "n": 2, "interval": [value - 0.1, value + 0.1]}
        for name, value in metrics.items()
    }
    return {"axiom": axiom, "method": method, "than": None, "spec": spec, "metrics": quantities}


RECORDS = [
    record("loo_correlation", "loo", pearson__mean=1.0),
    record("loo_correlation", "cp_lrp", pearson__mean=0.6),
    record("loo_correlation", "cp_lrp", pearson__mean=0.6),  # by two checks
    record("loo_correlation", "removal_grouped", pearson__mean=0.8),
    record("loo_correlation", "integrated_gradients", pearson__mean=0.4),
    record("loo_correlation", "untimed", pearson__mean=0.9),
    record("loo_correlation", "random", pearson__mean=0.0),
    record("cost", "random", passes=0.001),
    record("cost", "loo", passes=9.0),
    record("cost", "cp_lrp", passes=1.0),
    record("cost", "removal_grouped", passes=3.0),
    record("cost", "integrated_gradients", passes=20.0),
]


def test_points_have_both_and_come_by_cost() -> None:
    found = points(RECORDS)
    assert list(found) == ["specs/a.yaml"]
    assert [(each.method, each.passes, each.r) for each in found["specs/a.yaml"]] == [
        ("cp_lrp", 1.0, 0.6),
        ("removal_grouped", 3.0, 0.8),
        ("loo", 9.0, 1.0),
        ("integrated_gradients", 20.0, 0.4),
    ]


def test_the_front_is_what_nothing_beats() -> None:
    given = [Point("a", 1, 0.5, None), Point("b", 2, 0.4, None), Point("c", 3, 0.9, None), Point("d", 1, 0.6, None)]
    assert [each.method for each in front(given)] == ["d", "c"]


def test_figures_are_written_once_for_each_spec_and_are_the_same_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = save_pareto(RECORDS, tmp_path)
    assert [file.name for file in written] == ["pareto-a.png", "pareto-a.svg"]
    first = written[1].read_bytes()
    assert b"removal_grouped" in first
    save_pareto(RECORDS, tmp_path)
    assert written[1].read_bytes() == first
    assert save_pareto(RECORDS[:4], tmp_path / "none") == []
