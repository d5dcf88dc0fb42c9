"""Figures that set methods side by side: LOO r against cost, and the matrix of rewrites."""

from __future__ import annotations

import warnings
from pathlib import Path

from axioms.record import CheckRecord
from axioms.report.figures_methods import Point, draw_matrices, draw_pareto, front, points, save_matrix
from axioms.report.rewrites import cells_of
from tests.records import make_check, quantity
from tests.report.test_rewrites import CHECKS as REWRITTEN
from tests.report.test_rewrites import rewritten


def check(axiom: str, method: str, spec: str = "specs/a.yaml", **metrics: float) -> CheckRecord:
    quantities = {
        name.replace("__", "."): quantity(value, [value - 0.1, value + 0.1], 2) for name, value in metrics.items()
    }
    return make_check(axiom=axiom, method=method, spec=spec, metrics=quantities)


CHECKS = [
    check("loo_correlation", "loo", pearson__mean=1.0),
    check("loo_correlation", "cp_lrp", pearson__mean=0.6),
    check("loo_correlation", "cp_lrp", pearson__mean=0.6),  # by two checks
    check("loo_correlation", "removal_grouped", pearson__mean=0.8),
    check("loo_correlation", "integrated_gradients", pearson__mean=0.4),
    check("loo_correlation", "untimed", pearson__mean=0.9),
    check("loo_correlation", "random", pearson__mean=0.0),
    check("cost", "random", passes=0.001),
    check("cost", "loo", passes=9.0),
    check("cost", "cp_lrp", passes=1.0),
    check("cost", "removal_grouped", passes=3.0),
    check("cost", "integrated_gradients", passes=20.0),
]


def test_points_have_both_and_come_by_cost() -> None:
    by_part = points(CHECKS)
    assert list(by_part) == ["specs/a.yaml"]
    assert [(point.method, point.passes, point.r) for point in by_part["specs/a.yaml"]] == [
        ("cp_lrp", 1.0, 0.6),
        ("removal_grouped", 3.0, 0.8),
        ("loo", 9.0, 1.0),
        ("integrated_gradients", 20.0, 0.4),
    ]


def test_the_front_is_what_nothing_beats() -> None:
    given = [Point("a", 1, 0.5, None), Point("b", 2, 0.4, None), Point("c", 3, 0.9, None), Point("d", 1, 0.6, None)]
    assert [point.method for point in front(given)] == ["d", "c"]


def test_figures_are_written_once_for_each_spec_and_are_the_same_again(tmp_path: Path) -> None:
    (picture,) = draw_pareto(CHECKS, tmp_path)
    assert "$" not in picture.file.read_text()  # ticks in TeX, which is not parsed
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pareto-a.png", "pareto-a.svg"]
    assert "removal_grouped 0.80 at 3.0 passes" in picture.alternative
    first = picture.file.read_bytes()
    assert b"removal_grouped" in first
    draw_pareto(CHECKS, tmp_path)
    assert picture.file.read_bytes() == first
    assert draw_pareto(CHECKS[:4], tmp_path / "none") == []


def test_the_matrix_of_rewrites(tmp_path: Path) -> None:
    assert draw_matrices(REWRITTEN, tmp_path / "none") == [], "two rewrites are but a table"
    (picture,) = draw_matrices([*REWRITTEN, rewritten("split", "loo", "holds", 0.0)], tmp_path / "figures")
    assert (picture.file.name, picture.part) == ("rewrites_m.svg", "specs/m.yaml")
    assert "2 of 4 cells hold" in picture.alternative
    assert "<svg" in picture.file.read_text()
    assert save_matrix([], tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_a_matrix_of_one_cell_has_room_for_it(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert save_matrix(cells_of(REWRITTEN)[:1], tmp_path)
