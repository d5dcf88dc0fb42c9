"""Whether relevance points at the subject of the verb: Table 2 of Arras et al. (2025)."""

from __future__ import annotations

from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.pointing import expected_reciprocal_rank
from axioms.properties.helpers.truth import SCORES, places, score
from axioms.properties.helpers.views import SideView


@axiom("ground_truth", metrics={**SCORES, "mrr_over_chance": "mrr minus its expectation for scores that know nothing"})
def ground_truth(side: SideView, *, k: int = 2, special_tokens: bool = False) -> dict[str, Values]:
    """PG-k, MRR, RMA and PTA of the relevance with respect to the subject (Section 3.3).

    Over the tokens of the text; with `special_tokens`, those that the tokenizer adds and the mask compete as well.
    """
    candidates, truth = places(side, special_tokens)
    scores = score(side.scores, candidates, truth, k)
    return {**scores, "mrr_over_chance": scores["mrr"] - expected_reciprocal_rank(candidates, truth)}
