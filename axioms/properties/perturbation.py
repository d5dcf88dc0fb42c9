"""Removing features in order of relevance: MoRF, LeRF and their difference (Samek et al. 2017)."""

from __future__ import annotations

from axioms.core.lazy import np
from axioms.core.registry import Metric, axiom
from axioms.core.values import Values
from axioms.properties.correlations import left_out
from axioms.properties.views import SideView
from axioms.properties.walks import GRID, Curve, Walks, walks


@axiom(
    "perturbation",
    metrics={
        "delta": Metric("lerf - morf; higher is better"),
        "morf": Metric("mean output while the most relevant features go first; lower is better"),
        "lerf": Metric("mean output while the least relevant features go first; higher is better"),
        "aopc": Metric("mean drop of the output below f(x) while the most relevant features go first"),
        "morf_curve": Metric("output after 0, 5%, ..., 100% of the features, most relevant first", kind="curve"),
        "lerf_curve": Metric("output after 0, 5%, ..., 100% of the features, least relevant first", kind="curve"),
    },
)
def perturbation(side: SideView, *, step: int = 1, chunk: int | None = None) -> dict[str, Values]:
    """Areas of the two curves, each the mean output over removing `step`, 2 `step`, ... up to all features.

    The paper calls these areas AOPC, but prints LeRF as better when high and MoRF as better when low, which is so for
    the area *under* the curve; `aopc` is the area over it. Each example's area is the mean over its own steps, however
    many it has. With `chunk: 16` the units are chunks of 16 consecutive tokens, ranked by the sum of their relevance,
    for these curves only (You et al. 2025, Appendix B.1.2); by default they are those of the subject's `remove`. The
    curves are kept for each example, linear between its own steps. An example without any candidate is left out.
    """
    return areas(walks(side, step=step, chunk=chunk))


def areas(found: Walks) -> dict[str, Values]:
    """What is measured of both ways of every example."""
    nothing = np.array([len(curve.share) < 2 for curve in found.most_first])
    morf, lerf = (area(ways) for ways in (found.most_first, found.least_first))
    start = np.array([curve.value[0] for curve in found.most_first])
    return {
        "delta": left_out(lerf - morf, nothing),
        "morf": left_out(morf, nothing),
        "lerf": left_out(lerf, nothing),
        "aopc": left_out(start - morf, nothing),
        "morf_curve": on_grid([(curve.share, curve.value) for curve in found.most_first], nothing),
        "lerf_curve": on_grid([(curve.share, curve.value) for curve in found.least_first], nothing),
    }


def area(curves: list[Curve]) -> Values:
    """The mean of each curve over its steps, the start not counted."""
    return np.array([curve.value[1:].mean() if len(curve.value) > 1 else np.nan for curve in curves])


def on_grid(curves: list[tuple[Values, Values]], nothing: Values) -> Values:
    """examples x grid: each curve (shares, values) at the same shares, linear between its own."""
    table = np.array([np.interp(GRID, share, value) for share, value in curves])
    return left_out(table, np.broadcast_to(nothing[:, None], table.shape))
