"""Relevance worked out by hand, number by number."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.views import SideView


@axiom("relevance", metrics={"scores": Metric("the relevance of every feature", kind="vector")})
def relevance(side: SideView) -> dict[str, Values]:
    """The scores themselves, to be compared with `equals`."""
    return {"scores": side.scores}
