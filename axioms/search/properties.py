"""Exact axioms as hypothesis properties of a method: what to draw, and whether the method keeps the axiom there."""

from __future__ import annotations

from hypothesis import strategies as st

from axioms.core.registry import AXIOMS, METHODS
from axioms.search.breaks import exact_axioms
from axioms.search.falsify import LEAST_GAP, compare
from axioms.search.instances import STRATEGIES, Instance
from axioms.search.strategies import Example, examples
from axioms.search.trial import Trial

INVARIANCE = "implementation_invariance"


def axiom_names() -> list[str]:
    """Return the exact axioms that a small model can be asked for."""
    return [INVARIANCE, *exact_axioms()]


def models(axiom: str) -> st.SearchStrategy[Example | Instance]:
    """Return a strategy of small models, and of points, on which an axiom has something to say.

    Expressions and attention blocks of up to three features; for implementation invariance, two of one function.
    """
    if axiom == INVARIANCE:
        return st.one_of(examples(), examples(of_blocks=True))
    return st.one_of([strategy() for strategy in STRATEGIES[axiom]])


def broken_by(method: str, axiom: str, drawn: Example | Instance) -> str:
    """Return in what a method breaks an axiom there, in words; nothing where it keeps it, or where nothing is shown."""
    at = ", ".join(f"{name} = {value:g}" for name, value in drawn.point.items())
    if isinstance(drawn, Example):
        compared = compare(METHODS.get(method), drawn)
        if compared is None or compared[2] <= LEAST_GAP:
            return ""
        left, right = (list(seen.relevance.values()) for seen in compared[:2])
        return f"{drawn.left} has {left} and {drawn.right} has {right} at {at}: relative gap {compared[2]:.3g}"
    trial = Trial(METHODS.get(method), AXIOMS.get(axiom), drawn)
    value = trial.measure()
    if value is None or not trial.exceeds(value):
        return ""
    texts = " and ".join(map(str, drawn.expressions))
    return f"{texts} has {trial.relevance} at {at}: {trial.metric} {value:.3g}"
