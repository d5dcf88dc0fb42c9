"""The matrix of rewrites as a table and as a figure."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from axioms.report.figures_matrix import save_matrix
from axioms.report.rewrites import applicability, cells_of, in_one_line, matrix_markdown, matrix_of, violations_of


def record(rewrite: str, method: str | None, verdict: str, gap: float | None, **more: Any) -> dict[str, Any]:
    axiom = "implementation_invariance" if method else "forward_equivalence"
    values = {} if gap is None else {"relative_gap" if method else "gap": [gap, gap / 2]}
    return {
        "spec": "specs/m.yaml",
        "axiom": axiom,
        "method": method,
        "rewrite": rewrite,
        "verdict": verdict,
        "passed": True,
        "violation_claimed": verdict == "violated",
        "because": "it is so" if verdict == "violated" else None,
        "reason": "no rule covers 'exp'.",
        "values": values,
        **more,
    }


RECORDS = [
    record("permute", None, "holds", 1e-16),
    record("fold", None, "refused", None, reason="there is nothing to fold."),
    record("permute", "loo", "holds", 0.0),
    record("permute", "lrp", "violated", 0.25),
    record("softmax", "lrp", "refused", None),
    {**record("x", "loo", "holds", 0.0), "rewrite": None},
]


def test_tables() -> None:
    cells = cells_of(RECORDS)
    assert matrix_of(cells) == (
        ["", "loo", "lrp"],
        [["permute", "holds", "VIOLATED 2e-01*"], ["softmax", "-", "refused"]],
    )
    assert violations_of(cells)[1] == [
        ["permute", "lrp", "violated", "2.5e-01", "it is so"],
        ["softmax", "lrp", "refused", "-", "no rule covers 'exp'."],
    ]
    assert "1 of 3 cells hold, 1 are violated (1 as claimed), 1 refused" in in_one_line(cells)
    assert "| permute | lrp | violated | 2.5e-01 | it is so |" in matrix_markdown(RECORDS)


def test_which_apply_where() -> None:
    skipped = {"specs/n.yaml::forward_equivalence[fold]": "fold does not apply: no norm.", "other::x": "paper tier"}
    header, rows = applicability(RECORDS, skipped)
    assert header == ["rewrite", "specs/m.yaml", "specs/n.yaml"]
    assert rows == [
        ["fold", "no: there is nothing to fold.", "no: no norm."],
        ["permute", "1e-16", "-"],
        ["rewrites that apply", "1", "0"],
    ]


def test_figure(tmp_path: Path) -> None:
    (file,) = save_matrix(cells_of(RECORDS), tmp_path / "figures")
    drawn = file.read_text()
    assert file.name == "rewrites_m.svg"
    assert "<svg" in drawn
    assert save_matrix([], tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_a_figure_of_one_cell_has_room_for_it(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert save_matrix(cells_of(RECORDS)[:1], tmp_path)
