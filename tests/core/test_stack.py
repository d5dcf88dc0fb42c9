"""Python's frames have room: no depth at which every call asks the system for memory and gives it back."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from axioms.core.stack import SLOTS, with_room

resource = pytest.importorskip("resource", reason="tells of page faults on Unix alone")
CALLS = 500


def leaf() -> None:
    """Do nothing, in a frame of its own."""


def faults(depth: int) -> int:
    """Return how many pages the system had to give while many calls were made so many frames further down."""
    if depth:
        return faults(depth - 1)
    before: int = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    after: int = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    return after - before


def worst(measure: Callable[[int], int]) -> int:
    """Return the most faults at any of those depths that a piece of 16 KB has room for."""
    return max(measure(depth) for depth in range(150))


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="CPython's way to keep frames")
def test_no_depth_below_it_takes_memory_for_every_call() -> None:
    assert with_room(lambda: worst(faults)) < CALLS / 10


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="seen in CPython 3.11; others may keep a piece")
def test_without_it_there_is_such_a_depth() -> None:
    assert worst(faults) >= CALLS


def test_it_returns_and_raises_what_the_call_does() -> None:
    assert with_room(lambda: 3) == 3
    assert with_room.__code__.co_stacksize == SLOTS
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 // 0)
