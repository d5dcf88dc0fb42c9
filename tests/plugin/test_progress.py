"""What is shown of long work: a bar on a terminal, a line now and then in a log, and every fetch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from axioms.plugin import progress
from axioms.plugin.progress import Progress


class Terminal:
    """What of pytest's terminal reporter is used."""

    def __init__(self, isatty: bool) -> None:
        self.isatty = isatty
        self.shown: list[str] = []

    def write(self, text: str, *, flush: bool) -> None:
        assert flush
        self.shown.append(text)

    def write_line(self, text: str) -> None:
        self.shown.append(text)


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def progress_on(terminal: Terminal) -> Progress:
    plugins = {"terminalreporter": terminal}
    config: Any = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=plugins.get))
    return Progress(config)


def work(clock: Clock, isatty: bool, what: str, seconds: float) -> list[str]:
    """What is shown of ten steps that take so long together."""
    terminal = Terminal(isatty)
    report = progress_on(terminal)
    for step in range(1, 11):
        report(what, step, 10)
        clock.now += seconds / 10
    return terminal.shown


@pytest.mark.parametrize("isatty", [True, False])
def test_short_work_is_not_shown(clock: Clock, isatty: bool) -> None:
    assert work(clock, isatty, "loo", 1.5) == []


def test_long_work_is_a_bar_that_goes_away(clock: Clock) -> None:
    shown = work(clock, True, "loo", 20)
    assert "loo 5/10" in shown[3]
    assert "━" in shown[3]
    assert "loo" not in shown[-1]


def test_long_work_is_a_line_now_and_then_in_a_log(clock: Clock) -> None:
    assert work(clock, False, "loo", 100) == ["  loo 4/10", "  loo 7/10", "  loo 10/10"]


@pytest.mark.parametrize("isatty", [True, False])
def test_what_works_is_shown_as_text(clock: Clock, isatty: bool) -> None:
    shown = work(clock, isatty, "mine \x1b[31m\x07", 100)
    assert r"mine \x1b[31m\x07 4/10" in shown[0 if not isatty else 2]
    assert all("\x1b[31m" not in line and "\x07" not in line for line in shown)


def test_a_short_fetch_is_a_bar(clock: Clock) -> None:
    shown = work(clock, True, "fetching weights (MB)", 1.5)
    assert "fetching weights (MB) 1/10" in shown[0]
    assert len(shown) > 4
    assert "fetching" not in shown[-1]


def test_a_short_fetch_has_a_beginning_and_an_end_in_a_log(clock: Clock) -> None:
    shown = work(clock, False, "fetching weights (MB)", 1.5)
    assert shown == ["  fetching weights (MB) 1/10", "  fetching weights (MB) 10/10"]
