"""The most relevant units of every example, in growing shares: ERASER's bins."""

from __future__ import annotations

from typing import Literal

from axioms.core.errors import InputError
from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.properties.helpers.subsets import drops
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import ranks

BINS = [0.01, 0.05, 0.1, 0.2, 0.5]
"""The shares of tokens of DeYoung et al. 2020."""
Output = Literal["probability", "target"]


def rationale_drops(side: SideView, bins: list[float], of: Output, *, keep: bool) -> Values:
    """Return the mean drop over the bins, where the most relevant units are removed, or kept alone: one an example."""
    from axioms.model.targets import Probability

    if not bins or not all(0 < share <= 1 for share in bins):
        raise InputError(f"bins are shares above 0 and up to 1, not {bins}.")
    if of == "probability" and side.outputs.shape[1] < 2:
        raise InputError("a probability needs a model with at least two outputs; use `of: target`.")
    units = side.units()
    order = ranks(-units.sums(side.scores), units.counted)
    # At least one unit is a rationale.
    counts = np.maximum(1, np.ceil(np.multiply.outer(units.counts, bins))).astype(np.int64)
    top = order[:, None, :] < counts[:, :, None]
    chosen = (top != keep) & units.counted[:, None, :]
    target = Probability(side.target.index) if of == "probability" else side.target
    return drops(side, chosen, target).mean(axis=1)
