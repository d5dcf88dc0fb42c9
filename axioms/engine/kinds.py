"""Kinds of calls: those of operations, which have rules, and those that move, copy, choose or compare numbers."""

from __future__ import annotations

LINEAR = "linear"
SUM = "sum"
PRODUCT = "product"
SOFTMAX = "softmax"
NORM = "norm"
NORMALIZER = "normalizer"
ACTIVATION = "activation"
GATE = "gate"
BLOCK = "block"
CLAMP = "clamp"
"""The one activation that gates nothing: it guards against overflow, and what leaves it is what entered."""
KINDS = (LINEAR, SUM, PRODUCT, SOFTMAX, NORM, NORMALIZER, ACTIVATION, GATE, BLOCK)
"""Every kind of operation, for which a composite may name a rule."""

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
