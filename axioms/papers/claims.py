"""A claim of a paper, with the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it."""

    text: str
    """With its digits: `0.30` is not `0.3`."""
    what: str
    """Whose it is, for example `CP-LRP`."""
    beside: tuple[str, ...]
    """Words on the same line of the paper's text, by which a test finds the number."""


@dataclass(frozen=True)
class PaperClaim:
    """A row of a paper's scorecard."""

    key: str
    """What specs call it: `paper: {you2025: C5}`."""
    claim: str
    """In a few words; a scorecard has one line for it."""
    place: str
    """`Table 2`, `Section 3.2`."""
    printed: tuple[Printed, ...] = ()
    shown_as: str = ""
    """The printed numbers as a scorecard shows them; by default `0.52 against 0.22`."""

    @property
    def printed_text(self) -> str:
        """What a scorecard shows beside our number."""
        return self.shown_as or " against ".join(number.text for number in self.printed)
