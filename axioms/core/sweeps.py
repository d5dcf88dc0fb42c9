"""The kinds of settings that a sweep over layers has; specs name them, axioms measure under them."""

from __future__ import annotations

from typing import Literal

SweepKind = Literal["single", "front_to_back", "back_to_front"]
KINDS: tuple[SweepKind, ...] = ("single", "front_to_back", "back_to_front")


def kind_of(metric: str) -> SweepKind | None:
    """Return the kind of setting that a metric of a sweep is about; None where it needs but none and all layers."""
    if metric.startswith(("late_minus_early", "rank_correlation")):
        return "single"
    return next((kind for kind in KINDS if metric.startswith(kind)), None)
