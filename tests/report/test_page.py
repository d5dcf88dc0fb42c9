"""What a page shows of a run."""

from __future__ import annotations

import pytest

from axioms.record import CheckRecord
from axioms.report.page import anchor_of, counts_of, in_words, kind_of, matrix_of, sections_of, verdict_of
from tests.records import changed, make_check, make_run


def test_what_a_check_came_to() -> None:
    assert kind_of(make_check()) == "holds"
    assert kind_of(make_check(verdict="violated")) == "violated"
    assert kind_of(make_check(verdict="violated", passed=False)) == "failed"
    assert kind_of(make_check(verdict="inconclusive", passed=False)) == "failed"
    assert kind_of(make_check(verdict="holds", passed=False)) == "failed", "a claimed violation that is not shown"


@pytest.mark.parametrize(
    ("checks", "status", "said"),
    [
        ([make_check()], "passed", "All 1 checks pass: 1 holds. 1 were skipped."),
        (
            [make_check(), make_check(), make_check(verdict="violated")],
            "passed",
            "All 3 checks pass: 2 hold; 1 violated, as claimed. 1 were skipped.",
        ),
        ([make_check(), make_check(passed=False)], "failed", "1 of 2 checks fail. 1 were skipped."),
        (
            [make_check()],
            "interrupted",
            "All 1 checks pass: 1 holds. 1 were skipped. The run was not finished.",
        ),
    ],
)
def test_the_verdict_in_one_line(checks: list[CheckRecord], status: str, said: str) -> None:
    assert verdict_of(make_run(*checks, status=status)) == said


def test_the_most_telling_verdict_stands_for_a_cell(varied: list[CheckRecord]) -> None:
    axioms, rows = matrix_of(varied)
    assert axioms[0] == "implementation_invariance", "what the papers are about comes first"
    cell = rows["attnlrp"][axioms.index("conservation")]
    assert (cell.kind, cell.words) == ("failed", "1 failed; 1 holds; 1 refused, as claimed")
    assert rows["loo"][axioms.index("ground_truth")].words == "not checked"


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
