"""Seeds: which ones a spec may name, and those that are made of others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

FACTOR = 1_000_003
LARGEST = 2**63

Seed = Annotated[int, Field(ge=0, lt=LARGEST)]
"""Of a random generator: numpy takes no negative one, torch none of more than 64 bits."""


def combine_seeds(*seeds: int) -> int:
    """Return one seed of several, which torch takes however large they are; each number counts, and so does its place.

    A spec says the first and chooses it as large as it likes; the others count examples or samples.
    """
    seed = 0
    for number in seeds:
        seed = seed * FACTOR + number
    return seed % LARGEST
