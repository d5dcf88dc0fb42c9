"""Checks that the tests of a report share."""

from __future__ import annotations

import pytest

from axioms.record import CheckRecord
from tests.records import make_check, quantity

GAP = {"metrics": {"gap.max": quantity(0.0, n=2)}}
DECIDED = {
    "metric": "gap.max",
    "bound": "<= 1e-09",
    "place": {"file": "specs/a.yaml", "line": 3},
    "verdict": "holds",
    **quantity(0.0, n=2),
}


@pytest.fixture
def varied() -> list[CheckRecord]:
    """Every kind of verdict, with texts, images, curves and a comparison."""
    tokens = {"tokens": ["[CLS]", "good", "##ness"], "scores": [0.5, 1.0, -0.25]}
    text = {"kind": "text", **tokens, "output": 1.5}
    sentence = {"kind": "sentence", **tokens, "truth": [1], "words": [1, 2], "forms": ["is", "are"], "difference": 2.0}
    square = [[0.0, 1.0], [1.0, 0.0]]
    image = {"kind": "image", "name": "a 7", "image": square, "left": square, "right": [[1.0, 0.0], [0.0, 1.0]]}
    pair = {"difference": 0.2, "interval": [0.1, 0.3], "n": 2, "p": 0.01, "p_holm": 0.02, "d_z": None, "wins": 0.5}
    curves = {"morf_curve": {"mean": [1.0, 0.4, 0.0], "n": 2}, "lerf_curve": {"mean": [1.0, 0.9, 0.0], "n": 1}}
    judged = {**GAP, "bounds": [DECIDED]}
    b = {"spec": "specs/deep/b.yaml", "claim": 'Rules & <rules> "quoted" </script>', **GAP}
    return [
        make_check(**judged),
        make_check(order=1, method="loo", verdict="violated", violation_claimed=True, **judged),
        make_check(order=2, method="random", verdict="recorded", reported={"gap.max": 0.25}, **GAP),
        make_check(order=3, axiom="perturbation", curves=curves, verdict="recorded", **GAP),
        make_check(order=4, axiom="loo_correlation", examples=[text], **judged),
        make_check(order=5, axiom="ground_truth", method="cp_lrp", examples=[sentence], **judged),
        make_check(order=6, axiom="implementation_invariance", examples=[image], **judged),
        make_check(order=7, axiom="loo_correlation", than="random", paired={"pearson.mean": {**pair, "hypotheses": 2}}),
        make_check(
            **b,
            passed=False,
            verdict="violated",
            reason="gap.max is not <= 1e-09",
            place={"file": "specs/_base.yaml", "line": 9},
            bounds=[DECIDED],
        ),
        make_check(**b, order=1, rewrite="fold", verdict="refused", reason="no rule for exp", because="exp"),
    ]
