"""Progress of long checks: a note behind the dots on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from axioms.bar import bar
from axioms.plugin.options import is_worker

QUIET_SECONDS = 2.0
LOG_SECONDS = 30.0
SAVE, RESTORE, CLEAR = "\x1b7", "\x1b8", "\x1b[K"


class Progress:
    """Called with what is being done, how much of it is done, and how much there is."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._silent = self._terminal is None or is_worker(config)
        self._started = self._shown = time.monotonic()
        self._what = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show it, unless it has only just begun or was shown a moment ago."""
        if self._silent:
            return
        now = time.monotonic()
        if what != self._what or done <= 1:
            self._what, self._started = what, now
        live = self._terminal.isatty
        finished = done >= total
        pause = 0.2 if live else LOG_SECONDS
        if now - self._started < QUIET_SECONDS or (now - self._shown < pause and not (finished and live)):
            return
        self._shown = now
        with self._uncaptured():
            if live:
                self._terminal.write(
                    f"{SAVE}{CLEAR}" + ("" if finished else f"  {bar(done, total)}  {what} {done}/{total}") + RESTORE,
                    flush=True,
                )
            else:
                self._terminal.write_line(f"  {what} {done}/{total}")

    def _uncaptured(self) -> AbstractContextManager[None]:
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()
