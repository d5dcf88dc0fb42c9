"""Relevance worked out by hand, number by number."""

from __future__ import annotations

from axioms.checks.views import SideView
from axioms.measure import Values
from axioms.registry import Metric, axiom


@axiom("relevance", metrics={"scores": Metric("the relevance of every feature", kind="vector")})
def relevance(side: SideView) -> dict[str, Values]:
    """The scores themselves, to be compared with `equals`."""
    return {"scores": side.scores}
