"""Limits on what a piece of work may take: of time by the clock, and of memory; what takes more is cut off."""

from __future__ import annotations

import os
import re
import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

NO_MEMORY = re.compile(r"MemoryError|can't allocate memory|Unable to allocate")
"""How Python, torch and numpy say that there is no more memory."""


class Hang(BaseException):
    """Work that took longer than it may. No `Exception`, so that nothing takes it for an error of a model or method."""


@contextmanager
def at_most(seconds: float, work: str) -> Generator[None]:
    """Cut the work off after so many seconds, with an error that names it. For the main thread only."""

    def cut_off(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {seconds:g} s passed for:\n{work}")

    before = signal.signal(signal.SIGALRM, cut_off)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def memory_at_most(megabytes: int) -> Generator[None]:
    """Let the process grow by so many megabytes and no more: beyond that allocating raises (see `NO_MEMORY`)."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
