"""Facts: what the engine knows of a value on its way, and how that knowledge crosses each kind of call.

Facts survive everything that changes no number: views, copies, slices, joins, casts, `* 1` and `+ 0`. Where values with
different facts are joined (`cat`, `where`, a write into a part), the result is a *mixture*: each entry has its own
facts, kept as a tensor of codes that is moved by the same calls as the values, until a slice takes them apart again.
What is written through a view is known of its base too, and of every other view of it.

This is the only module that sets an attribute on a tensor.
"""

from axioms.engine.facts.access import (
    give,
    held_entries,
    hold,
    is_variable,
    known_of,
    note,
    of,
    survey,
    variables,
    vary,
)
from axioms.engine.facts.crossing import cross, write
from axioms.engine.facts.mixing import put
from axioms.engine.facts.record import PLAIN, Facts, Mixture, Origin

__all__ = [
    "PLAIN",
    "Facts",
    "Mixture",
    "Origin",
    "cross",
    "give",
    "held_entries",
    "hold",
    "is_variable",
    "known_of",
    "note",
    "of",
    "put",
    "survey",
    "variables",
    "vary",
    "write",
]
