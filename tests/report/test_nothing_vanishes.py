"""What went wrong is on the page, in summary.md and in the record: an error, a drift, a range that one number hid."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from axioms.record import Drift, RunRecord, read_record
from axioms.report.html import unpack
from axioms.report.summary import summary_markdown
from axioms.report.write import write_report
from tests.records import make_check, make_claim, make_error, make_run, quantity

RAISES = '''
import axioms

@axioms.method("raises", passes=1)
def raises(model, inputs, target):
    """Raise, whatever it is given."""
    raise ValueError("no such layer")
'''


def page_of(run: RunRecord, folder: Path) -> str:
    """The page as text without its tags, which a reader sees before anything is unfolded."""
    page = write_report(run, folder, folder).page.read_text()
    return seen(page.partition('<script type="application/octet-stream"')[0])


def seen(html: str) -> str:
    body = re.sub(r"<style>.*?</style>|<title>.*?</title>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", re.sub("</?a[^>]*>", "", body))))


def test_a_check_that_raised_is_a_cell_counted_and_listed(pytester: pytest.Pytester, good_spec: str) -> None:
    pytester.makepyfile(mine=RAISES)
    specs = pytester.mkdir("specs")
    (specs / "a.yaml").write_text(good_spec.replace("[[3, -1]]", "[[3, 1]]").replace("attnlrp", "raises"))
    result = pytester.runpytest_subprocess("specs", "--axioms-import", "mine", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    run = read_record(pytester.path / "reports/latest")
    assert [check.method for check in run.errors] == ["raises"]
    html = (pytester.path / "reports/latest/index.html").read_text()
    page, packed = seen(html.partition('<script type="application/octet-stream"')[0]), unpack(html)
    assert "1 check raised an error." in page
    assert "ValueError: no such layer" in page, "listed under the headline"
    assert "2 checks: 1 error; 1 holds." in page
    assert "! ERROR 1" in page, "a cell of the matrix"
    (piece,) = (piece for name, piece in packed["pieces"].items() if name == "specs-a-yaml")
    assert 'data-kind="error"' in piece, "a row of its spec"
    summary = (pytester.path / "reports/latest/summary.md").read_text()
    assert "1 check raised an error." in summary
    assert "ValueError: no such layer" in summary
    assert "ERROR" in summary


def test_a_drift_is_in_the_headline_and_has_its_table(tmp_path: Path) -> None:
    row = ["drift", "specs/a.yaml::conservation[attnlrp]", "gap.max", "0.1", "0.2", "+-1e-07"]
    header = ["", "check", "metric", "before", "after", "allowed"]
    drift = Drift(
        compared=4, failed=True, versions=[], said=["4 metrics compared: 1 drifted."], header=header, rows=[row]
    )
    run = make_run(make_check(), status="failed", baseline=drift)
    for text in (page_of(run, tmp_path), summary_markdown(run)):
        assert "1 number drifted from the baseline." in text
        assert "checks pass" not in text
        assert "4 metrics compared: 1 drifted." in text
        for cell in row:
            assert cell in text


def test_a_cell_of_several_specs_shows_how_many_and_their_range(tmp_path: Path) -> None:
    checks = [
        make_check(spec=f"specs/{name}.yaml", axiom="loo_correlation", metrics={"pearson.mean": quantity(value)})
        for name, value in {"a": 0.25, "b": 0.75, "c": 0.5}.items()
    ]
    run = make_run(*checks)
    assert "✓ 3 r 0.25…0.75" in page_of(run, tmp_path)
    assert (
        "in 3 specs or subjects; pearson.mean from 0.25 to 0.75 in 3 numbers" in (tmp_path / "index.html").read_text()
    )
    assert "3 hold, r 0.25…0.75" in summary_markdown(run)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("shown", "shown"), ("contradicted", "contradicted"), ("not_shown", "not shown"), ("not_run", "not run")],
)
def test_a_verdict_of_a_claim_stands_as_text(tmp_path: Path, verdict: str, words: str) -> None:
    run = make_run(make_check(), claims=[make_claim(verdict=verdict, status="open")])
    page = page_of(run, tmp_path)
    assert f"1 claim: 1 {words}." in page
    assert re.search(
        rf"Table 2 CP-LRP is closer to LOO 0.52 against 0.22 \S {words} r \+0.003 \[-0.050, 0.060\] n=64", page
    )
    summary = summary_markdown(run)
    assert f"| {words} | r +0.003 [-0.050, 0.060] n=64 | 0.52 against 0.22 |" in summary


def test_more_than_one_error_is_counted(tmp_path: Path) -> None:
    errors = [make_error(), make_error(id="specs/a.yaml::purity[raises]", axiom="purity")]
    assert "2 checks raised an error and 1 of 4 checks fails." in page_of(
        make_run(make_check(), make_check(passed=False), errors=errors, status="failed"), tmp_path
    )
