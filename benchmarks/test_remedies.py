"""Time follows the passes: each remedy beside CP-LRP, which is one forward and one backward pass."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

import axioms

BATCH, LENGTH = 16, 24
SLACK = 1.25
"""How much more than its passes a method may take."""


@pytest.mark.parametrize(
    ("method", "options", "passes", "forward"),
    [
        ("degree_lrp", {}, 1, 0),
        ("removal_taylor", {}, 1, 0),
        ("removal_taylor", {"order": "exact_block"}, 1, 0),
        ("removal_grouped", {"groups": 2}, 2, 1),  # no pass is at the open gates: one more chooses the target
        ("removal_grouped", {}, 3, 1),
        ("loo_adaptive", {"exact": 4}, 1, 4),
        ("loo", {}, 0, LENGTH + 1),
        ("block_lrp", {"nodes": 8}, None, None),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_remedy(
    bert: Any, texts: Any, compare: Any, seconds: Any, method: str, options: dict[str, Any], passes: Any, forward: Any
) -> None:
    """`passes` there and back, and `forward` passes alone, which count their measured share of one."""
    model, inputs = bert(6, 384, attention="eager"), texts(BATCH, LENGTH)

    def cp_lrp() -> object:
        return axioms.attribute(model, inputs, method="cp_lrp")

    def run_forward() -> object:
        return axioms.attribute(model, inputs, method="random")  # the pass that reports the output, and noise

    goal = None
    if passes is not None:
        share = statistics.median(seconds(run_forward) / seconds(cp_lrp) for _ in range(5))
        goal = SLACK * (passes + forward * share)
    compare(
        f"{' '.join([method, *map(str, options.values())])}, 6 layers x 384, {BATCH} x {LENGTH}",
        lambda: axioms.attribute(model, inputs, method=method, **options),
        cp_lrp,
        of="cp_lrp",
        goal=goal,
    )
