"""Room for Python's frames: pytest's own calls fill what comes before ours.

CPython keeps the frames of a thread in pieces of 16 KB, and gives a piece back to the system as soon as its first frame
ends. Where a loop happens to stand at the end of a piece, every call in it asks the system for another and gives it
back: a check of a small model under pytest did so 500 times, for a quarter of its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

SLOTS = 5000
"""Entries of a frame with which a piece of 64 KB begins, which leaves 24 KB of it to the frames of what is called."""
Result = TypeVar("Result")


def with_room(call: Callable[[], Result]) -> Result:
    """Return what the call returns, run where all its frames are in one piece."""
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
