"""Progress by tqdm: a bar on a terminal; in a log, its beginning and its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from axioms.core.printable import printable

FORMAT = "{bar:20}  {desc} {n_fmt}/{total_fmt}"
SYMBOLS = "─╸━"
FETCHING = "fetching"
"""How the name of a download begins: it is shown however short it is, since it happens once and uses the network."""


def bar(what: str, done: int, total: int) -> str:
    """Return `━━━━━━━━━━━━━━╸─────  what 29/40`."""
    from tqdm import tqdm

    return tqdm.format_meter(min(done, total), total, 0, prefix=printable(what), ascii=SYMBOLS, bar_format=FORMAT)


class Bar:
    """Progress of one thing after another on standard error; what takes less than `delay` seconds is not shown."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._what = ""
        self._show: Callable[[int], None]

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that so much of so much is done."""
        what = printable(what)
        if what != self._what:
            self._what = what
            self._show = (_on_terminal if sys.stderr.isatty() else _in_log)(what, total, self._delay)
        self._show(done)
        if done >= total:
            self._what = ""


def _on_terminal(what: str, total: int, delay: float) -> Callable[[int], None]:
    """Return a function that redraws a bar."""
    from tqdm import tqdm

    meter = tqdm(total=total, desc=what, delay=delay, ascii=SYMBOLS, bar_format=FORMAT, file=sys.stderr)

    def show(done: int) -> None:
        meter.update(done - meter.n)
        if done >= total:
            meter.close()

    return show


def _in_log(what: str, total: int, delay: float) -> Callable[[int], None]:
    """Return a function that prints a line when the work has taken `delay` seconds, and another when it is done."""
    started, lines = time.monotonic(), 0

    def show(done: int) -> None:
        nonlocal lines
        if time.monotonic() - started < delay or (lines and done < total):
            return
        print(f"{what} {done}/{total}" if done >= total else f"{what} ...", file=sys.stderr, flush=True)
        lines += 1

    return show
