"""Seeds that are made of others."""

from __future__ import annotations

FACTOR = 1_000_003
LARGEST = 2**63


def combined(*seeds: int) -> int:
    """Return one seed of several, which torch takes however large they are; each number counts, and so does its place.

    A spec says the first and chooses it as large as it likes; the others count examples or samples.
    """
    seed = 0
    for number in seeds:
        seed = seed * FACTOR + number
    return seed % LARGEST
