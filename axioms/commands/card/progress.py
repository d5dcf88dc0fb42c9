"""What a card is doing: one line that is redrawn on a terminal, a line for each part in a log."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from axioms.commands.card.deadline import Deadline

REDRAWN_AFTER = 0.2
"""Seconds between two drawings of the line."""


class Progress:
    """Shows on standard error what is measured, how far it is, and how much time there is left."""

    def __init__(self, deadline: Deadline) -> None:
        """Start to show; the deadline says how much time is left."""
        self._deadline = deadline
        self._is_terminal = sys.stderr.isatty()
        self._what, self._part, self._drawn = "", "", 0.0

    def __call__(self, what: str, number: int, total: int) -> None:
        """Show what is measured now."""
        self._what = f"{number}/{total} {what}"
        if self._is_terminal:
            self._draw(self._what)
        elif what.partition(":")[0] != self._part:
            self._part = what.partition(":")[0]
            print(f"{self._deadline.spent:4.0f} s  {number}/{total} {self._part}", file=sys.stderr, flush=True)

    def report(self, what: str, done: int, total: int) -> None:
        """Show how far one measurement is."""
        if self._is_terminal and time.monotonic() - self._drawn > REDRAWN_AFTER:
            self._draw(f"{self._what}  {what} {done}/{total}")

    def close(self) -> None:
        """Take the line away."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _draw(self, text: str) -> None:
        self._drawn = time.monotonic()
        line = f"{max(0.0, self._deadline.left):3.0f} s left  {text}"[: shutil.get_terminal_size().columns - 1]
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
