"""The ground truth of the agreement benchmark: which tokens compete, which are the subject's, and how scores fare."""

from __future__ import annotations

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.properties.helpers import pointing
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.views import SideView
from axioms.subjects.agreement.benchmark import Agreement

SCORES = {
    "pg": "whether one of the k highest scores is the subject's",
    "mrr": "one over the best rank of the subject's tokens",
    "rma": "the share of positive relevance that is the subject's",
    "pta": "the share of tokens that are positive if the subject's, and not positive else",
}


def agreement_of(side: SideView) -> Agreement:
    """Return the sentences behind a side."""
    if side.data is None or side.data.agreement is None:
        raise InputError("this axiom needs sentences of the agreement benchmark as data: `data: agreement-sentences`.")
    return side.data.agreement


def places(side: SideView, special_tokens: bool) -> tuple[Flags, Flags]:
    """Return which features compete, and which of them are the subject's: examples x features."""
    aligned = agreement_of(side).aligned
    assert side.data is not None
    shape = (len(aligned), side.data.width or int(side.inputs.features.shape[1]))
    candidates, truth = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for row, sentence in enumerate(aligned):
        candidates[row, list(range(sentence.length) if special_tokens else sentence.words)] = True
        truth[row, list(sentence.truth)] = True
    return candidates, truth


def score(scores: Values, candidates: Flags, truth: Flags, k: int) -> dict[str, Values]:
    """Return each of `SCORES` for every example."""
    if k < 1:
        raise InputError(f"the pointing game needs a k of at least 1, not {k}.")
    return {
        "pg": pointing.pointing_game(scores, candidates, truth, k),
        "mrr": pointing.reciprocal_rank(scores, candidates, truth),
        "rma": pointing.relevance_mass(scores, candidates, truth),
        "pta": pointing.per_token_accuracy(scores, candidates, truth),
    }
