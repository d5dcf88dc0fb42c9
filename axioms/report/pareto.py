"""Agreement with leave-one-out against cost: the figure of the remedies, from the records of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from axioms.report.drawing import SETTINGS, save

Record = dict[str, Any]

R, PASSES = "pearson.mean", "passes"
EXACT = "loo"
LEAST = 0.1
"""Passes below which a method makes none at all: `random` has no place on the curve."""


class Point(NamedTuple):
    """A method on one spec's subject."""

    method: str
    passes: float
    r: float
    interval: tuple[float, float] | None


def points(records: Sequence[Record]) -> dict[str, list[Point]]:
    """By spec: every method of which both the LOO r and the cost were measured, by cost."""
    found: dict[str, list[Point]] = {}
    costs = {(each["spec"], each["method"]): each for each in records if each["axiom"] == "cost"}
    for record in records:
        cost = costs.get((record["spec"], record["method"]))
        if record["axiom"] != "loo_correlation" or record["than"] is not None or cost is None:
            continue
        quantity, passes = record["metrics"].get(R), cost["metrics"].get(PASSES)
        if quantity is None or passes is None or None in (quantity["value"], passes["value"]):
            continue
        if passes["value"] < LEAST:
            continue
        interval = quantity["interval"]
        point = Point(record["method"], passes["value"], quantity["value"], interval and (interval[0], interval[1]))
        if point not in found.setdefault(record["spec"], []):  # recorded, and judged by another check
            found[record["spec"]].append(point)
    return {spec: sorted(each, key=lambda point: point.passes) for spec, each in found.items()}


def front(found: Sequence[Point]) -> list[Point]:
    """The points that no other beats: none is cheaper with as high an r."""
    best: list[Point] = []
    for point in sorted(found, key=lambda each: (each.passes, -each.r)):
        if not best or point.r > best[-1].r:
            best.append(point)
    return best


def save_pareto(records: Sequence[Record], folder: Path) -> list[Path]:
    """One figure (PNG and SVG) for each spec that measured both; the files that were written."""
    measured = points(records)
    if not measured:
        return []
    import matplotlib

    written: list[Path] = []
    with matplotlib.rc_context({**SETTINGS, "axes.spines.top": True, "axes.spines.right": True}):
        for spec, found in measured.items():
            written += save(_figure(spec, found), folder, f"pareto-{Path(spec).stem}")
    return written


def _figure(spec: str, found: Sequence[Point]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    along = front(found)
    axes.step([each.passes for each in along], [each.r for each in along], where="post", color="#BBBBBB", zorder=1)
    for number, point in enumerate(found, start=1):
        colour = "#D55E00" if point.method == EXACT else "#0072B2" if point in along else "#777777"
        if point.interval is not None:
            axes.vlines(point.passes, *point.interval, color=colour, linewidth=1.2)
        label = f"{number}  {point.method}: {point.passes:.1f}, {point.r:.2f}"
        axes.plot(point.passes, point.r, "o", color=colour, markersize=5, label=label)
        # Left and right in turn: neighbours in cost are often neighbours in r.
        side = 6 if number % 2 else -6
        axes.annotate(
            str(number),
            (point.passes, point.r),
            xytext=(side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            color=colour,
        )
    figure.legend(loc="outside right center", frameon=False, fontsize=7, title="passes, r", title_fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("cost in passes (time over that of CP-LRP)")
    axes.set_ylabel("mean Pearson r with LOO")
    axes.set_title(Path(spec).stem, fontsize=10)
    return figure
