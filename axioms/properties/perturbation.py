"""Removing features in order of relevance: MoRF, LeRF and their difference (Samek et al. 2017).

`morf` is the mean of the curve of Quantus' PixelFlipping and, with patches of one pixel, of Selectivity; `aopc` that of
RegionPerturbation (tests/properties/test_peers_faithfulness.py).
"""

from __future__ import annotations

from axioms.core.entries import Metric
from axioms.core.registry import axiom
from axioms.core.values import Values
from axioms.properties.helpers.areas import areas
from axioms.properties.helpers.views import SideView
from axioms.properties.helpers.walks import walks


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
