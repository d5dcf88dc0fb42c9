"""What a page shows of a run."""

from __future__ import annotations

from typing import Any

import pytest

from axioms.record import CheckRecord, Drift
from axioms.report.page.headline import headline_of, rest_of
from axioms.report.page.matrix import matrix_of
from axioms.report.page.outcomes import anchor_of, counts_of, in_words, kind_of
from axioms.report.page.sections import groups_of, sections_of
from axioms.report.page.verdicts import scorecards_of
from axioms.report.summary import summary_markdown
from tests.records import changed, make_check, make_claim, make_error, make_run, quantity


def test_what_a_check_came_to() -> None:
    assert kind_of(make_check()) == "holds"
    assert kind_of(make_check(verdict="violated")) == "violated"
    assert kind_of(make_check(verdict="violated", passed=False)) == "failed"
    assert kind_of(make_check(verdict="inconclusive")) == "recorded", "an open question passes whatever the answer"
    assert kind_of(make_check(verdict="inconclusive", passed=False)) == "failed"
    assert kind_of(make_check(verdict="holds", passed=False)) == "failed", "a claimed violation that is not shown"


DRIFT = Drift(
    compared=3,
    failed=True,
    versions=[],
    said=["3 metrics compared: 2 drifted."],
    header=["", "check", "metric", "before", "after", "allowed"],
    rows=[["drift", "specs/a.yaml::x[y]", "gap.max", "0.1", "0.2", "+-1e-07"], ["gone", "specs/a.yaml::z", *"----"]],
)


@pytest.mark.parametrize(
    ("checks", "changes", "said"),
    [
        ([make_check()], {}, "The one check passes."),
        ([make_check(), make_check(verdict="violated")], {}, "All 2 checks pass."),
        ([make_check(), make_check(passed=False)], {"status": "failed"}, "1 of 2 checks fails."),
        ([make_check()], {"status": "interrupted"}, "The one check passes. The run was not finished."),
        ([make_check()], {"status": "failed", "errors": [make_error()]}, "1 check raised an error."),
        ([make_check()], {"status": "failed", "baseline": DRIFT}, "2 numbers drifted from the baseline."),
        (
            [make_check(passed=False)],
            {"status": "failed", "errors": [make_error()], "baseline": DRIFT},
            "1 check raised an error, 1 of 2 checks fails and 2 numbers drifted from the baseline.",
        ),
        (
            [make_check()],
            {"status": "failed", "claims": [make_claim(verdict="not_shown")]},
            "1 asserted claim is not shown.",
        ),
        ([make_check()], {"claims": [make_claim(verdict="not_shown", status="open")]}, "The one check passes."),
        ([make_check()], {"status": "failed"}, "1 check passes, and the run failed elsewhere."),
    ],
)
def test_the_headline_says_everything_that_went_wrong(
    checks: list[CheckRecord], changes: dict[str, Any], said: str
) -> None:
    assert headline_of(make_run(*checks, **changes)) == said


def test_below_the_headline_claims_and_checks_are_counted() -> None:
    claims = [make_claim(), make_claim(verdict="not_run"), make_claim(verdict="not_run")]
    run = make_run(make_check(), errors=[make_error()], claims=claims)
    assert rest_of(run) == ["3 claims: 1 shown, 2 not run.", "2 checks: 1 error; 1 holds. 1 skipped."]


def test_the_most_telling_verdict_stands_for_a_cell(varied: list[CheckRecord]) -> None:
    axioms, rows = matrix_of(varied)
    assert axioms[0] == "implementation_invariance", "what the papers are about comes first"
    by_method = {row.method: row.places for row in rows}
    cell = by_method["attnlrp"][axioms.index("conservation")]
    assert (cell.kind, cell.total) == ("failed", 3)
    assert cell.words.startswith("1 failed; 1 holds; 1 refused, as claimed; in 2 specs or subjects")
    assert by_method["loo"][axioms.index("ground_truth")].words == "not checked"


def test_an_error_is_a_cell(varied: list[CheckRecord]) -> None:
    axioms, rows = matrix_of([*varied, make_error(axiom="conservation", method="attnlrp")])
    assert rows[0].places[axioms.index("conservation")].kind == "error"


def test_a_cell_of_several_specs_shows_how_many_and_their_range() -> None:
    values = {"specs/a.yaml": 0.25, "specs/b.yaml": 0.75, "specs/c.yaml": 0.5}
    checks = [
        make_check(spec=spec, axiom="loo_correlation", metrics={"pearson.mean": quantity(value)}, verdict="recorded")
        for spec, value in values.items()
    ]
    (place,) = matrix_of(checks)[1][0].places
    assert (place.specs, place.range_text) == (3, "r 0.25…0.75")
    assert place.words == "3 recorded; in 3 specs or subjects; pearson.mean from 0.25 to 0.75 in 3 numbers"


def test_a_range_is_over_both_sides_and_every_check_that_has_the_metric() -> None:
    sides = {"left.pearson.mean": quantity(0.1), "right.pearson.mean": quantity(0.4)}
    checks = [
        make_check(axiom="loo_correlation", metrics=sides),
        make_check(axiom="loo_correlation", metrics={"pearson.mean": quantity(0.9)}),
        make_check(axiom="loo_correlation", metrics={"relative_gap.max": quantity(7.0)}),
    ]
    (place,) = matrix_of(checks)[1][0].places
    assert (place.metric, place.low, place.high, place.n) == ("pearson.mean", 0.1, 0.9, 3)


def test_aliases_are_folded_under_their_method() -> None:
    labels = ("block_lrp", "block_lrp_24", "nodes_5")
    names = ("block_lrp", "block_lrp", "integrated_gradients")
    checks = [make_check(method=label, method_name=name) for label, name in zip(labels, names, strict=True)]
    block, integrated = matrix_of(checks)[1]
    assert (block.method, block.places[0].total) == ("block_lrp", 2)
    assert [label for label, _ in block.aliases] == ["block_lrp", "block_lrp_24"]
    assert (integrated.method, [label for label, _ in integrated.aliases]) == ("integrated_gradients", ["nodes_5"])
    assert matrix_of([make_check(method_name="attnlrp")])[1][0].aliases == []


def test_the_scorecard_has_a_row_for_each_claim_and_a_column_for_each_subject() -> None:
    claims = [
        make_claim("C2", subject="MNIST", verdict="contradicted"),
        make_claim("C1", subject="BERT-base", verdict="not_run", missing="--axioms-tier paper", numbers=[]),
        make_claim("C1", subject="MiniLM", verdict="not_shown", status="open"),
        make_claim(None, subject="MiniLM"),
    ]
    (card,) = scorecards_of(make_run(make_check(), claims=claims))
    assert card.title.startswith("You et al. 2025. When LRP Diverges")
    assert card.columns == ["MNIST", "MiniLM", "BERT-base"], "what was not run comes last"
    assert [row.key for row in card.rows] == ["C1", "C2"]
    first = card.rows[0].cells
    assert first["MNIST"] == []
    (cell,) = first["MiniLM"]
    assert (cell.verdict, cell.number, cell.is_open) == ("not_shown", "r +0.003 [-0.050, 0.060] n=64", True)
    assert cell.anchor == "specs-a-yaml"
    assert first["BERT-base"][0].about == "--axioms-tier paper"


def test_many_subjects_share_columns_whose_cells_name_them() -> None:
    names = ["x1 x2 x3", "3 tokens", "linear MLP", "4 tokens", "MNIST"]
    claims = [
        make_claim("C1", subject="BERT-base", verdict="not_run", missing="--axioms-tier paper", numbers=[]),
        *(make_claim("C1", subject=name) for name in names),
        make_claim("C2", subject="MNIST"),
    ]
    (card,) = scorecards_of(make_run(make_check(), claims=claims))
    assert card.columns == ["MNIST", "other subjects", "not run"]
    first, second = (row.cells for row in card.rows)
    assert [cell.subject for cell in first["other subjects"]] == names[:-1]
    assert [cell.subject for cell in first["not run"]] == ["BERT-base"]
    assert (len(second["MNIST"]), second["other subjects"]) == (1, [])
    assert "| BERT-base | not run |" in summary_markdown(make_run(make_check(), claims=claims))


def test_specs_are_grouped_by_folder_and_families_by_themselves() -> None:
    family = [make_check(spec="specs/always.yaml", label=label) for label in ("bert", "gpt2", "llama", "opt", "vit")]
    others = [make_check(), make_check(spec="specs/full/c.yaml"), make_check(spec="specs/b.yaml", passed=False)]
    groups = groups_of(sections_of(make_run(*family, *others), []))
    assert [(group.name, len(group.sections)) for group in groups] == [
        ("specs", 2),
        ("specs/always.yaml", 5),
        ("specs/full", 1),
    ]
    assert groups[0].is_failing
    assert groups[1].counts == {"holds": 5}


def test_a_spec_of_which_every_check_raised_has_its_section() -> None:
    (section,) = sections_of(make_run(errors=[make_error()]), [])
    assert section.is_failing
    assert section.entries[0].reason == "ValueError: no such layer (mine.py:7)"


def test_failures_come_first_and_folders_last(varied: list[CheckRecord]) -> None:
    assert [section.spec for section in sections_of(make_run(*varied), [])] == ["specs/deep/b.yaml", "specs/a.yaml"]
    passing = make_run(*(changed(check, passed=True) for check in varied))
    assert [section.spec for section in sections_of(passing, [])] == ["specs/a.yaml", "specs/deep/b.yaml"]


def test_a_check_shows_its_numbers_and_where_it_is_written(varied: list[CheckRecord]) -> None:
    failed, passing = sections_of(make_run(*varied), [])
    entry = failed.entries[0]
    assert (entry.place, entry.anchor) == ("_base.yaml, line 9", "specs-_base-yaml-L9")
    assert failed.entries[1].place == "a.yaml, line 3"
    assert passing.entries[0].place == "line 3"
    assert entry.reason == "gap.max is not <= 1e-09"
    assert failed.entries[1].reason == "no rule for exp; exp"
    (line,) = entry.lines
    assert (line.metric, line.value, line.n, line.bounds, line.paper) == ("gap.max", "0.0000", 2, ["<= 1e-09"], "")
    assert passing.entries[2].lines[0].paper == "0.2500"
    assert passing.compared[1][0][0] == "attnlrp over random"


def test_texts_are_shown_by_text_and_method(varied: list[CheckRecord]) -> None:
    _, passing = sections_of(make_run(*varied), [])
    (text,) = passing.texts
    assert list(text.by_method) == ["attnlrp", "cp_lrp"]
    tokens = text.by_method["cp_lrp"]
    assert [(token.text, token.space) for token in tokens] == [("[CLS]", " "), ("good", " "), ("ness", ""), ("is", " ")]
    assert [token.truth for token in tokens] == [False, True, False, False]
    assert tokens[-1].verb
    assert not text.by_method["attnlrp"][-1].verb


def test_each_subject_of_a_spec_has_its_section(varied: list[CheckRecord]) -> None:
    checks = [changed(check, label=label) for label in ("bert", "gpt2") for check in varied[:3]]
    sections = sections_of(make_run(*checks), [])
    assert [section.name for section in sections] == ["specs/a.yaml, bert", "specs/a.yaml, gpt2"]
    assert [section.anchor for section in sections] == ["specs-a-yaml-bert", "specs-a-yaml-gpt2"]


def test_counts_and_words() -> None:
    assert in_words(counts_of([])) == ""
    assert list(counts_of([make_check(), make_check(verdict="violated")])) == ["violated", "holds"]
    assert anchor_of("specs/a b.yaml") == "specs-a-b-yaml"
