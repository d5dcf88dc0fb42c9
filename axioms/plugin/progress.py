"""Progress of long checks: a note behind the dots on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from axioms.core.bar import FETCHING, bar
from axioms.core.printable import printable
from axioms.plugin.options import is_worker

QUIET_SECONDS = 2.0
LIVE_SECONDS = 0.2
LOG_SECONDS = 30.0
SAVE, RESTORE, CLEAR = "\x1b7", "\x1b8", "\x1b[K"


class Progress:
    """Shows progress; call it with what is being done, how much of it is done, and how much there is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._silent = self._terminal is None or is_worker(config)
        self._started = self._shown = time.monotonic()
        self._what = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show it, unless it has only just begun or was shown a moment ago. A download is always shown."""
        if self._silent:
            return
        now = time.monotonic()
        begins, finished = what != self._what, done >= total
        if begins or done <= 1:
            self._what, self._started = what, now
        live = self._terminal.isatty
        fetched = what.startswith(FETCHING)
        if not fetched and now - self._started < QUIET_SECONDS:
            return
        at_once = begins or finished if fetched else finished and live
        if not at_once and now - self._shown < (LIVE_SECONDS if live else LOG_SECONDS):
            return
        self._shown = now
        with self._uncaptured():
            if live:
                self._terminal.write(
                    f"{SAVE}{CLEAR}" + ("" if finished else f"  {bar(what, done, total)}") + RESTORE,
                    flush=True,
                )
            else:
                self._terminal.write_line(f"  {printable(what)} {done}/{total}")

    def _uncaptured(self) -> AbstractContextManager[None]:
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()
