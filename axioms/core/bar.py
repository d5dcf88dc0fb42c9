"""Progress as a bar."""

from __future__ import annotations

import sys

WIDTH = 20
FETCHING = "fetching"
"""How the name of a download begins: it is shown however short it is, since it happens once and uses the network."""


def bar(done: int, total: int) -> str:
    """`━━━━━━━━━━━━━━╸─────`, as full as the work is done."""
    filled = 2 * WIDTH * min(done, total) // max(total, 1)
    return ("━" * (filled // 2) + "╸" * (filled % 2)).ljust(WIDTH, "─")


class Bar:
    """A bar on standard error, redrawn on a terminal; in a log only its beginning and its end."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show how much is done."""
        live, finished = sys.stderr.isatty(), done >= total
        text = f"{bar(done, total)}  {what} {done}/{total}" if live or finished else f"{what} ..."
        if text == self._shown:
            return
        self._shown = text
        end = "\n" if finished or not live else ""
        print(f"\r\x1b[K{text}" if live else text, end=end, file=sys.stderr, flush=True)
