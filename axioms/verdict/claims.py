"""The verdict of a claim from what its checks show."""

from __future__ import annotations

from collections.abc import Sequence

from axioms.record import CheckRecord, ClaimNumber, ClaimVerdict

UNITS = {
    "pearson": "r",
    "pearson_sum_normalized": "r/sum",
    "spearman": "rank r",
    "relative_gap": "gap",
    "relative_error": "error",
    "ratio": "sum/f",
    "delta": "Δ",
    "mrr": "MRR",
    "mrr_over_chance": "MRR-chance",
    "pg": "PG2",
    "rma": "RMA",
    "pta": "PTA",
    "late_minus_early": "late-early",
    "rank_correlation": "rank r",
    "rank_correlation_by_example": "rank r",
    "passes": "time x",
    "sign_flipped": "flipped",
    "scores": "R",
}
"""What a scorecard calls a metric; one that is not here has its own name."""


def decide(checks: Sequence[CheckRecord], missing: int = 0) -> ClaimVerdict:
    """Return the verdict of all checks together: a claim stands while each does; `missing` of them were not run.

    One check is enough to contradict a claim, whatever else is missing.
    """
    shown = [check.shows for check in checks]
    if "contradicted" in shown:
        return "contradicted"
    if missing or not checks:
        return "not_run"
    return "shown" if set(shown) == {"shown"} else "not_shown"


def numbers_of(checks: Sequence[CheckRecord], verdict: ClaimVerdict) -> list[ClaimNumber]:
    """Return the number of each check that judged one, those first that have the claim's verdict."""
    ordered = sorted(checks, key=lambda check: check.shows != verdict)
    return [_number(check) for check in ordered if check.bounds]


def _number(check: CheckRecord) -> ClaimNumber:
    decision = next((bound for bound in check.bounds if bound.number is not None), check.bounds[0])
    name = f"{check.method} over {check.than}" if check.than else check.method or ""
    bare = [
        part for part in decision.metric.split(".") if part not in ("left", "right", "mean", "max", "min", "median")
    ]
    return ClaimNumber(
        value=decision.value,
        n=decision.n,
        interval=decision.interval,
        check=check.id,
        about=name,
        metric=f"{check.axiom}.{decision.metric}",
        unit=UNITS.get(bare[-1], bare[-1]) if bare else UNITS["scores"],
        is_difference=check.than is not None,
    )
