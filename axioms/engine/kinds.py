"""Kinds of calls: those of operations, which have rules, and those that move, copy, choose or compare numbers."""

from __future__ import annotations

from axioms.engine.operations import ACTIVATION, BLOCK, GATE, LINEAR, NORM, NORMALIZER, PRODUCT, SOFTMAX, SUM

QUERY = "query"
"""Asks for a shape, compares or makes something new: no number of a variable comes out of it."""
SAME = "same"
"""Every entry as it was: a copy, a cast, dropout at rest."""
MOVE = "move"
"""Every entry somewhere else, or several times, or not at all."""
JOIN = "join"
"""Variables beside variables or constants."""
FILL = "fill"
"""Some entries replaced by a constant."""
SELECT = "select"
"""The entries that win a comparison: a maximum, a sort."""
WRITE = "write"
"""Something put into a part of the first argument."""
SCALE = "scale"
"""A variable times a constant, entry by entry."""
ACCUMULATE = "accumulate"
"""Entries added where an index says; the plain gradient is its rule, but it is a sum."""
LOG_SOFTMAX = "log_softmax"
"""The logarithm of a softmax or of its denominator, for which there is no rule."""
OTHER = "other"
"""Anything that is not in the table."""

MOVING = frozenset((SAME, MOVE, JOIN))
ENTRY_BY_ENTRY = frozenset((FILL, SCALE, SUM))

__all__ = [
    "ACCUMULATE",
    "ACTIVATION",
    "BLOCK",
    "ENTRY_BY_ENTRY",
    "FILL",
    "GATE",
    "JOIN",
    "LINEAR",
    "LOG_SOFTMAX",
    "MOVE",
    "MOVING",
    "NORM",
    "NORMALIZER",
    "OTHER",
    "PRODUCT",
    "QUERY",
    "SAME",
    "SCALE",
    "SELECT",
    "SOFTMAX",
    "SUM",
    "WRITE",
]
