"""Making the parts of a report, each by itself: what one raises is said, and costs no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from axioms.core.errors import said

Value = TypeVar("Value")


class Attempts:
    """Makes parts, and remembers what went wrong with them."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """A sentence for each part that could not be made."""

    def make(self, what: str, make: Callable[[], Value]) -> Value | None:
        """Return what `make` makes; None where it raises."""
        try:
            return make()
        except OSError as error:
            self.problems.append(f"{what} could not be written: {error.strerror or error}.")
        except Exception as error:
            self.problems.append(f"{what} could not be made: {said(error)}.")
        return None
