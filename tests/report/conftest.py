"""Records that the tests of a report share."""

from __future__ import annotations

from typing import Any

import pytest

Record = dict[str, Any]


def make_record(**changed: Any) -> Record:
    """A check that holds, as results.json has it."""
    return {
        "id": "specs/a.yaml::conservation[attnlrp]",
        "spec": "specs/a.yaml",
        "order": 0,
        "line": 3,
        "place": "specs/a.yaml:3",
        "claim": "A sum is a sum.",
        "source": "You et al. 2025",
        "note": None,
        "tier": "smoke",
        "subject": "linear",
        "axiom": "conservation",
        "method": "attnlrp",
        "than": None,
        "options": {},
        "rewrite": None,
        "because": None,
        "violation_claimed": False,
        "verdict": "holds",
        "passed": True,
        "reason": "",
        "bounds": [{"metric": "gap.max", "bound": "<= 1e-09", "value": 0.0, "n": 2, "interval": None}],
        "metrics": {"gap.max": {"value": 0.0, "n": 2, "interval": None}},
        "values": {},
        "paired": {},
        "reported": {},
        "table": None,
        "worst": "",
        "examples": [],
        "run": {"dtype": "float64", "seed": 0, "confidence": 0.95},
        "seconds": 0.1,
        **changed,
    }


def make_document(*records: Record, status: str = "passed") -> Record:
    """A results.json of these checks."""
    return {
        "schema_version": 1,
        "run": {
            "status": status,
            "started": "2026-01-01T12:00:00+00:00",
            "seconds": 1.5,
            "command": "pytest specs/",
            "git_commit": None,
        },
        "environment": {"python": "3.11", "platform": "here", "packages": {"torch": "2", "none": None}},
        "checks": list(records),
        "skipped": [{"id": "specs/b.yaml::x[y]", "reason": "paper tier: --axioms-tier paper"}],
    }


@pytest.fixture
def varied() -> list[Record]:
    """Every kind of verdict, with texts, images, curves and a comparison."""
    tokens = {"tokens": ["[CLS]", "good", "##ness"], "scores": [0.5, 1.0, -0.25], "output": 1.5}
    sentence = {**tokens, "truth": [1], "words": [1, 2], "forms": ["is", "are"], "difference": 2.0}
    square = [[0.0, 1.0], [1.0, 0.0]]
    image = {"name": "a 7", "image": square, "left": square, "right": [[1.0, 0.0], [0.0, 1.0]]}
    pair = {"difference": 0.2, "interval": [0.1, 0.3], "n": 2, "p": 0.01, "p_holm": 0.02, "d_z": None, "wins": 0.5}
    curves = {"morf_curve": [[1.0, 0.5, 0.0], [1.0, 0.3, 0.0]], "lerf_curve": [[1.0, 0.9, 0.0], [None] * 3]}
    b = {"spec": "specs/deep/b.yaml", "claim": 'Rules & <rules> "quoted" </script>'}
    return [
        make_record(),
        make_record(order=1, method="loo", verdict="violated", violation_claimed=True),
        make_record(order=2, method="random", verdict="recorded", bounds=[], reported={"gap.max": 0.25}),
        make_record(order=3, axiom="perturbation", values=curves, verdict="recorded", examples=[]),
        make_record(order=4, axiom="loo_correlation", examples=[tokens]),
        make_record(order=5, axiom="ground_truth", method="cp_lrp", examples=[sentence]),
        make_record(order=6, axiom="implementation_invariance", examples=[image]),
        make_record(order=7, axiom="loo_correlation", than="random", paired={"pearson.mean": pair}, metrics={}),
        make_record(
            **b, passed=False, verdict="violated", reason="gap.max is not <= 1e-09", place="specs/_base.yaml:9"
        ),
        make_record(
            **b, order=1, rewrite="fold", verdict="refused", reason="no rule for exp", because="exp", bounds=[]
        ),
    ]
