"""Text that other people wrote, made fit for a terminal, a log or an XML file."""

from __future__ import annotations

import re

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that nobody sees and that do something: escapes of terminals, changes of direction, halves of pairs."""


def printable(text: str) -> str:
    r"""Return a text with its unseen characters spelled out, so that they do nothing: `\x1b[31m`."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)
