"""The relevance is what is known of a built subject: R_i = f(x) - f(x without i), or R_i = its Shapley value.

Two readings of the right answer, by name: `of: shapley` (Shapley 1953, of the game that removes features), and `of:
loo`. Where features act alone they are the same; where evidence is redundant leave-one-out gives nobody anything, and
where it counts only together it gives everybody everything. `interaction` says how far a subject is from acting alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from axioms.core.entries import Metric
from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.registry import axiom
from axioms.core.values import Values, relative_gap
from axioms.properties.helpers.views import SideView

if TYPE_CHECKING:
    from axioms.subjects.models.modules.known import Answers


@axiom(
    "known_answer",
    metrics={
        "relative_gap": Metric("max_i |R_i - answer_i| / max_i max(|R_i|, |answer_i|)", rounding=True),
        "interaction": Metric("max_ij |I_ij|, I the pairwise Shapley interaction index: 0 where features act alone"),
    },
    expect={"relative_gap.max": {"le": 1e-9}},
)
def known_answer(side: SideView, *, of: Literal["shapley", "loo"] = "shapley") -> dict[str, Values]:
    """The gap between the relevance and the answer that is known in closed form."""
    answers = known_answers(side)
    return {
        "relative_gap": relative_gap(side.scores, getattr(answers, of)),
        "interaction": np.abs(answers.interactions).max(axis=(1, 2)),
    }


def known_answers(side: SideView) -> Answers:
    """Return what is known of the subject, or raise where nothing is."""
    find = getattr(side.model.module, "answers", None)
    if find is None:
        raise InputError("known_answer is for built subjects: {known: and}, {known: duplicates}, shattered, ...")
    answers: Answers = find(side.inputs.features)
    return answers
