"""Text with markup, quotes, scripts, LaTeX and escapes is text in the page that Chromium shows and in the PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from axioms.papers.grid import Block, Grid, Number
from axioms.report.latex import document
from axioms.report.summary import summary_markdown
from axioms.report.write import write_report
from tests.records import make_check, make_claim, make_error, make_run, quantity
from tests.report.browsing import show, start_browser, unavailable

SCRIPT = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
QUOTES = "\" onmouseover=\"window.ran = 3\" ' autofocus onfocus='window.ran = 4' x='"
TEMPLATE = "{{ 7 * 7 }} {% raw %} javascript:window.ran=5 <!-- ]]> &amp; &#60;"
ESCAPES = "\x1b[31mred\x07"
HOSTILE = f"{SCRIPT} {QUOTES} {TEMPLATE} {ESCAPES}"
LATEX = r"\input{/etc/passwd} \write18{touch ran} \end{document} % $x^2$ #1 & ~ \def\x{\x}\x ^^M"


def hostile_check(**changed: Any) -> Any:
    tokens = {"tokens": [HOSTILE, "</span>"], "scores": [0.5, -1.0]}
    gap = {HOSTILE: quantity(0.5, n=2)}
    bound = {"metric": HOSTILE, "bound": HOSTILE, "verdict": "violated", **quantity(0.5, n=2)}
    fields = {
        "id": f"specs/{HOSTILE}.yaml::conservation[{HOSTILE}]",
        "spec": f"specs/{HOSTILE}.yaml",
        "place": {"file": f"specs/{HOSTILE}.yaml", "line": 1},
        "claim": HOSTILE,
        "source": HOSTILE,
        "note": HOSTILE,
        "subject": HOSTILE,
        "axiom": "loo_correlation",
        "method": HOSTILE,
        "options": {HOSTILE: HOSTILE},
        "because": HOSTILE,
        "verdict": "violated",
        "passed": False,
        "reason": HOSTILE,
        "worst": HOSTILE,
        "metrics": gap,
        "reported": {HOSTILE: 0.25},
        "bounds": [{**bound, "place": {"file": f"specs/{HOSTILE}.yaml", "line": 1}}],
        "examples": [{"kind": "text", **tokens, "output": 1.5}],
        "table": {"name": "table-2", "block": HOSTILE},
    }
    return make_check(**{**fields, **changed})


def hostile_claim(key: str | None) -> Any:
    made = make_claim(key, status="open", claim=HOSTILE, subject=HOSTILE, id=f"specs/{HOSTILE}.yaml{key}")
    return made if made.row is None else made.model_copy(update={"row": made.row.model_copy(update={"claim": HOSTILE})})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    started = start_browser()
    yield started
    started.quit()


def shown(browser: Any, page: Path) -> str:
    """Return the text of a page on which everything is unfolded and every handler has had its chance."""
    show(browser, page, width=1280, height=1400)
    return _text(browser)


def _text(browser: Any) -> str:
    browser.execute_script(
        "document.querySelectorAll('details').forEach(part => { part.open = true });"
        "document.querySelectorAll('*').forEach(part => ['mouseover', 'focus', 'error', 'click'].forEach("
        "  name => part.tagName === 'A' || part.dispatchEvent(new Event(name))))"
    )
    assert browser.execute_script("return window.ran === undefined"), "a script of the record's ran"
    assert browser.execute_script("return document.querySelectorAll('img[src=x], [onerror], [onfocus]').length") == 0
    return str(browser.execute_script("return document.body.textContent"))


def test_the_page_runs_no_script_and_shows_the_text(browser: Any, tmp_path: Path) -> None:
    checks = [hostile_check(), hostile_check(order=1, axiom="conservation", rewrite=HOSTILE, examples=[])]
    error = make_error(error=HOSTILE, claim=HOSTILE, subject=HOSTILE, method=HOSTILE, where=HOSTILE)
    run = make_run(*checks, status="failed", errors=[error], claims=[hostile_claim("C1"), hostile_claim(None)])
    text = shown(browser, write_report(run, tmp_path / "report", tmp_path).page)
    for piece in (SCRIPT, QUOTES, TEMPLATE):
        assert piece in text
    outside = {file.name for file in tmp_path.iterdir()} - {"report"}
    assert outside == set(), "nothing is written outside of the report's folder"


def test_summary_markdown_shows_the_text() -> None:
    summary = summary_markdown(make_run(hostile_check(), claims=[hostile_claim("C1"), hostile_claim(None)]))
    for tag in ("script", "/script", "img", "!--"):
        assert f"\\<{tag}" in summary
        assert not re.search(rf"(?<!\\)<{tag}", summary)
    assert "\x1b" not in summary


def test_the_pdf_shows_the_text(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        unavailable("there is no pdflatex: install texlive-latex-recommended")
    text = f"{LATEX} {SCRIPT} {ESCAPES}"
    grid = Grid("t", text, text, [(text, 2)], ["", text], [Block(text, [[text, Number(-1.5, place=2)]], {0: text})])
    (tmp_path / "t.tex").write_text("\\pdfcompresslevel=0 " + document([grid]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not (tmp_path / "ran").exists()
    assert "root:" not in (tmp_path / "t.log").read_text(errors="replace")
    content = (tmp_path / "t.pdf").read_bytes().decode("latin-1")
    printed = "".join(re.findall(r"\(((?:[^()\\]|\\.)*)\)", "".join(re.findall(r"\[.*?\]TJ", content))))
    for words in ("input", "/etc/passwd", "write18", "touch", "document", "script", "window.ran"):
        assert words in printed
