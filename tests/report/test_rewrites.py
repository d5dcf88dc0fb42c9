"""The matrix of rewrites as a table."""

from __future__ import annotations

from typing import Any

from axioms.record import CheckRecord, SkippedCheck
from axioms.report.rewrites import applicability, cells_of, in_one_line, matrix_markdown, matrix_of, violations_of
from tests.records import changed, make_check, quantity


def rewritten(rewrite: str, method: str | None, verdict: str, gap: float | None, **more: Any) -> CheckRecord:
    axiom = "implementation_invariance" if method else "forward_equivalence"
    metric = "relative_gap.max" if method else "gap.max"
    fields = {
        "spec": "specs/m.yaml",
        "axiom": axiom,
        "method": method,
        "rewrite": rewrite,
        "verdict": verdict,
        "violation_claimed": verdict == "violated",
        "because": "it is so" if verdict == "violated" else None,
        "reason": "no rule covers 'exp'.",
        "extra_metrics": {} if gap is None else {metric: quantity(gap)},
    }
    return make_check(**{**fields, **more})


CHECKS = [
    rewritten("permute", None, "holds", 1e-16),
    rewritten("fold", None, "refused", None, reason="there is nothing to fold."),
    rewritten("permute", "loo", "holds", 0.0),
    rewritten("permute", "lrp", "violated", 0.25),
    rewritten("softmax", "lrp", "refused", None),
    changed(rewritten("x", "loo", "holds", 0.0), rewrite=None),
]


def test_tables() -> None:
    cells = cells_of(CHECKS)
    assert matrix_of(cells) == (
        ["", "loo", "lrp"],
        [["permute", "holds", "VIOLATED 2e-01*"], ["softmax", "-", "refused"]],
    )
    assert violations_of(cells)[1] == [
        ["permute", "lrp", "violated", "2.5e-01", "it is so"],
        ["softmax", "lrp", "refused", "-", "no rule covers 'exp'."],
    ]
    assert "1 of 3 cells hold, 1 are violated (1 as claimed), 1 refused" in in_one_line(cells)
    assert "| permute | lrp | violated | 2.5e-01 | it is so |" in matrix_markdown(CHECKS)


def test_which_apply_where() -> None:
    fold = SkippedCheck(
        id="specs/n.yaml::forward_equivalence[fold]",
        spec="specs/n.yaml",
        axiom="forward_equivalence",
        rewrite="fold",
        reason="fold does not apply: no norm.",
        not_applicable="no norm.",
    )
    skipped = [fold, fold.model_copy(update={"id": "other::x", "not_applicable": None, "spec": "other"})]
    header, rows = applicability(CHECKS, skipped)
    assert header == ["rewrite", "specs/m.yaml", "specs/n.yaml"]
    assert rows == [
        ["fold", "no: there is nothing to fold.", "no: no norm."],
        ["permute", "1e-16", "-"],
        ["rewrites that apply", "1", "0"],
    ]


def test_a_gap_that_is_not_finite_has_no_size() -> None:
    (cell,) = cells_of([rewritten("permute", "lrp", "inconclusive", float("nan"), passed=False)])
    assert cell.gap is None
    _, rows = applicability([rewritten("permute", None, "inconclusive", float("inf"), passed=False)], [])
    assert rows[0] == ["permute", "not finite"]
