"""The fast engine changes gradients, the explicit one carries relevance through the equations; they agree."""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values, as_numpy, relative_gap
from axioms.properties.helpers.views import SideView


@axiom(
    "engine_agreement",
    metrics={"relative_gap": Metric("max_i |fast_i - explicit_i| / max_i max(|fast_i|, |explicit_i|)", rounding=True)},
    expect={"relative_gap.max": {"le": 1e-6}},
)
def engine_agreement(side: SideView, *, epsilon: float = 1e-12) -> dict[str, Values]:
    """The gap between the method on the fast and on the explicit engine, whose every division has this epsilon.

    The bound of its own is for 1e-12. The fast engine divides by nothing where a rule has no epsilon, so the gap is
    what the explicit engine's epsilon makes of it: `{engine_agreement: {epsilon: 1e-6}}` measures it at the paper's.
    """
    engines = ("fast", {"explicit": epsilon})
    fast, explicit = (as_numpy(side.bench.variant({"engine": engine}).scores) for engine in engines)
    return {"relative_gap": relative_gap(fast, explicit)}
