"""Text with markup, quotes, scripts, LaTeX and escapes is text in every page that Chromium shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from axioms.commands.card.measure import Absence, Measured
from axioms.commands.card.write import Writer
from axioms.commands.explain.explain import Answer
from axioms.commands.explain.page import explanation_page
from axioms.report.spelling import spelt
from axioms.report.write import write_report
from axioms.spec.references import MethodRef
from tests.commands.card.test_browser import shown as card_checks
from tests.records import make_run
from tests.report.browsing import show, start_browser
from tests.report.hostile import HOSTILE, LATEX, PIECES, QUOTES, SCRIPT, TEMPLATE, hostile_check, hostile_run

EVERY_FIGURE = {"curves", "maps", "pareto", "rewrites_"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = start_browser()
    yield started
    started.quit()


def shown(browser: Any, page: Path) -> str:
    """Return the text of a page on which everything is unfolded and every handler has had its chance."""
    if "dataset.ready" in page.read_text(encoding="utf-8"):
        show(browser, page, width=1280, height=1400)
    else:  # a page without a script of ours
        browser.get(page.as_uri())
    browser.execute_script(
        "document.querySelectorAll('details').forEach(part => { part.open = true });"
        "document.querySelectorAll('*').forEach(part => ['mouseover', 'focus', 'error', 'click'].forEach("
        "  name => part.tagName === 'A' || part.dispatchEvent(new Event(name))))"
    )
    assert browser.execute_script("return window.ran === undefined"), "a script of the record's ran"
    assert browser.execute_script("return document.querySelectorAll('img[src=x], [onerror], [onfocus]').length") == 0
    return str(browser.execute_script("return document.body.textContent"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report in which every text is hostile; nothing is written outside of it."""
    root = tmp_path_factory.mktemp("hostile")
    written = write_report(hostile_run(), root / "report", root)
    assert written.problems == []
    assert {file.name for file in root.iterdir()} == {"report"}
    drawn = {file.stem for file in written.figures}
    assert {start for start in EVERY_FIGURE if any(name.startswith(start) for name in drawn)} == EVERY_FIGURE
    assert len(drawn) == len(EVERY_FIGURE) + 1, "and the figure of layers"
    return root / "report"


def test_the_page_runs_no_script_and_shows_the_text(browser: Any, report: Path) -> None:
    text = shown(browser, report / "index.html")
    for piece in PIECES:
        assert piece in text


def test_every_figure_is_a_picture(browser: Any, report: Path) -> None:
    """An SVG with an escape in it is no XML, and a formula that is none raises in matplotlib."""
    figures = sorted((report / "figures").glob("*.svg"))
    assert len(figures) == len(EVERY_FIGURE) + 1
    for figure in figures:
        browser.get(figure.as_uri())
        assert browser.execute_script("return document.querySelector('parsererror') === null"), figure.name
        text = browser.execute_script("return document.documentElement.textContent")
        assert r"$\frac{1}$" in text, figure.name


def test_pages_of_heatmaps(browser: Any, report: Path) -> None:
    (page,) = report.glob("heatmaps-*.html")
    text = shown(browser, page)
    for piece in (SCRIPT, QUOTES, TEMPLATE, LATEX):
        assert text.count(piece) >= 3, "in the title, as a method and as a token"


def test_lines_of_a_spec(browser: Any, tmp_path: Path) -> None:
    """A real file with a name that is as hostile as a file's may be, and worse in it."""
    name = "<img src=x onerror='window.ran = 6'> \" {{ 7 * 7 }} $x$ & %s `#.yaml"
    (tmp_path / name).write_text(f"claim: one\n{HOSTILE}\n")
    check = hostile_check(id=f"{name}::a[b]", spec=name, place={"file": name, "line": 2})
    text = shown(browser, write_report(make_run(check), tmp_path / "report", tmp_path).page)
    assert f"claim: one\n{HOSTILE.splitlines()[0]}" in "\n".join(line.strip() for line in text.splitlines())
    assert name in text


def test_the_page_of_explain(browser: Any, tmp_path: Path) -> None:
    tokens = [HOSTILE, "</span>"]
    run: Any = SimpleNamespace(dtype="float32")
    question: Any = SimpleNamespace(
        pieces=spelt(tokens), tokens=tokens, about=HOSTILE, output=1.0, removal=HOSTILE, run=run
    )
    answers = [Answer(HOSTILE, (0.5, -1.0), loo_r=0.5), Answer(f"other {HOSTILE}", reason=HOSTILE)]
    page = tmp_path / "explain.html"
    page.write_text(explanation_page(HOSTILE, HOSTILE, question, answers), encoding="utf-8")
    text = shown(browser, page)
    for piece in PIECES:
        assert text.count(piece) >= 6


def test_a_card(browser: Any, tmp_path: Path) -> None:
    checks = [*card_checks((HOSTILE, "loo", "attnlrp", "cp_lrp"))]
    measured = Measured(HOSTILE, ("loo", "attnlrp", "cp_lrp"), judged=[], shown=checks, is_searched=True)
    measured.undefined.append(Absence("invariance_matrix", "implementation_invariance", HOSTILE, HOSTILE, HOSTILE))
    measured.missing["sentiment"] = HOSTILE
    method = MethodRef.model_validate({"attnlrp": {"as": HOSTILE}})
    written = Writer(tmp_path / "card", method, HOSTILE, HOSTILE, HOSTILE).write(measured)
    text = shown(browser, written.page)
    for piece in PIECES:
        assert text.count(piece) >= 3
    assert {file.name for file in tmp_path.iterdir()} == {f"card.{kind}" for kind in ("html", "md", "svg", "json")}
