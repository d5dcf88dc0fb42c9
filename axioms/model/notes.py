"""Sentences about how something was computed, for whoever listens: `Attribution.notes` has those of a method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTES: ContextVar[dict[str, None] | None] = ContextVar("axioms_notes", default=None)


def note(sentence: str) -> None:
    """Add a sentence to the notes that are being taken, once however often it is said."""
    notes = _NOTES.get()
    if notes is not None:
        notes[sentence] = None


@contextmanager
def taking_notes() -> Iterator[dict[str, None]]:
    """Collect the notes of what is computed inside, as the keys of a dictionary."""
    notes: dict[str, None] = {}
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)
