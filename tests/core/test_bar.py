"""Progress: a bar on a terminal, two lines in a log, nothing for what is quick."""

from __future__ import annotations

import io
import sys

import pytest

from axioms.core import bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_as_full_as_the_work_is_done() -> None:
    assert bar.bar("work", 29, 40) == "━" * 14 + "╸" + "─" * 5 + "  work 29/40"
    assert bar.bar("work", 0, 3).startswith("─" * 20)
    assert bar.bar("work", 5, 3).startswith("━" * 20)


def test_a_terminal_has_a_bar_that_is_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    report = bar.Bar()
    for done in range(1, 4):
        report("work", done, 3)
    report("more", 1, 1)
    first, last = screen.getvalue().replace("\x1b[A", "").split("\n")[:2]
    assert first.startswith("\r" + "─" * 20)
    assert first.rstrip().endswith("━" * 20 + "  work 3/3")
    assert last.rstrip().endswith("more 1/1")


def test_a_log_has_the_beginning_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    report = bar.Bar()
    for what in ("work", "more"):
        for done in range(1, 11):
            report(what, done, 10)
    assert capsys.readouterr().err == "work ...\nwork 10/10\nmore ...\nmore 10/10\n"
    report("small", 1, 1)
    assert capsys.readouterr().err == "small 1/1\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_is_quick_is_not_shown(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    screen = Screen() if is_terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    report = bar.Bar(delay=60.0)
    for done in range(1, 4):
        report("work", done, 3)
    assert screen.getvalue() == ""
