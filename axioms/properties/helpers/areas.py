"""Areas of the curves that a walk gives, and the curves on a common grid."""

from __future__ import annotations

from axioms.core.lazy import np
from axioms.core.values import Values
from axioms.properties.helpers.correlations import left_out
from axioms.properties.helpers.units import Flags
from axioms.properties.helpers.walks import GRID, Curve, Walks


def areas(ways: Walks) -> dict[str, Values]:
    """Return MoRF, LeRF, their difference, AOPC and both curves of every example; empty examples are left out."""
    morf, lerf = area(ways.most_first), area(ways.least_first)
    start = np.array([curve.value[0] for curve in ways.most_first])
    return {
        "delta": left_out(lerf - morf, ways.empty),
        "morf": left_out(morf, ways.empty),
        "lerf": left_out(lerf, ways.empty),
        "aopc": left_out(start - morf, ways.empty),
        "morf_curve": on_grid([(curve.share, curve.value) for curve in ways.most_first], ways.empty),
        "lerf_curve": on_grid([(curve.share, curve.value) for curve in ways.least_first], ways.empty),
    }


def area(curves: list[Curve]) -> Values:
    """Return the mean of each curve over its steps, the start not counted."""
    return np.array([curve.value[1:].mean() if len(curve.value) > 1 else np.nan for curve in curves])


def on_grid(curves: list[tuple[Values, Values]], empty: Flags) -> Values:
    """Return each curve (shares, values) at the same shares, linear between its own: examples x grid."""
    table = np.array([np.interp(GRID, share, value) for share, value in curves])
    return left_out(table, np.broadcast_to(empty[:, None], table.shape))
