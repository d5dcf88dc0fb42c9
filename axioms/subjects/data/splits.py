"""A part of a data set that training never sees, chosen by each text itself and not by its place in a file."""

from __future__ import annotations

import hashlib

PARTS = 10
HELD_OUT, VALIDATION = 0, 1
"""Parts that `minilm-sentiment` was not trained on: for users to evaluate on, and to score while training."""


def digest(text: str) -> str:
    """Return the SHA-256 of the text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def part(text: str) -> int:
    """Return the text's part, 0 to 9: its SHA-256 as a number, modulo 10."""
    return int(digest(text), 16) % PARTS


def is_held_out(text: str) -> bool:
    """Whether the text is in part 0, on which nothing of `minilm-sentiment` was trained or chosen."""
    return part(text) == HELD_OUT
