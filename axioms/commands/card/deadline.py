"""A budget of time that is kept: what still runs when it is over is stopped where it is."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """The budget is spent. Not an `Exception`, as an interruption is none: no method may catch it by accident."""


class Deadline:
    """A moment after which nothing may run."""

    def __init__(self, seconds: float) -> None:
        """Set the moment `seconds` from now."""
        self.started = time.monotonic()
        self._end = self.started + seconds

    @property
    def left(self) -> float:
        """The seconds until then; negative afterwards."""
        return self._end - time.monotonic()

    @property
    def spent(self) -> float:
        """The seconds since it was set."""
        return time.monotonic() - self.started

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Raise `OutOfTime` inside the block when the moment comes.

        Where there is no such alarm (on Windows, or outside the main thread) it is raised only before the block.
        """
        if self.left <= 0:
            raise OutOfTime
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, _ring)
        signal.setitimer(signal.ITIMER_REAL, self.left)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
