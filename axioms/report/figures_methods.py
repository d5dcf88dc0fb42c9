"""Figures that set methods side by side: agreement with leave-one-out against cost, and the matrix of rewrites.

Imports matplotlib only to draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from axioms.record import CheckRecord, Interval
from axioms.report.drawing import SETTINGS, Picture, file_stem, in_figure, save
from axioms.report.rewrites import Cell, cells_of, in_one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

R, PASSES = "pearson.mean", "passes"
EXACT = "loo"
LEAST = 0.1
"""Passes below which a method makes none at all: `random` has no place on the curve."""


class Point(NamedTuple):
    """A method on one spec's subject."""

    method: str
    passes: float
    r: float
    interval: Interval | None


PARETO = (
    "Agreement with leave-one-out against cost. Up and to the left is better: the grey step joins the methods that "
    "none beats in both; leave-one-out itself is orange. Lines are intervals of r."
)
REWRITTEN = (
    "How far apart the relevance of the original and of the rewritten model is, for each method and rewrite. An empty "
    "dark cell holds; a number is the gap as a share of the largest relevance; a grey cell was refused. A method of "
    "the function has a dark row."
)
SMALLEST, LARGEST = 1e-9, 1.0
"""Ends of the colour scale: what holds, and a gap as large as the relevance itself."""
FEWEST_REWRITES = 3
"""Of a model, for a picture of its rewrites."""


def points(checks: Sequence[CheckRecord]) -> dict[str, list[Point]]:
    """By part of the run: every method of which both the LOO r and the cost were measured, by cost."""
    costs = {(check.part, check.method): check.metrics.get(PASSES) for check in checks if check.axiom == "cost"}
    by_part: dict[str, list[Point]] = {}
    for check in checks:
        r, cost = check.metrics.get(R), costs.get((check.part, check.method))
        if check.axiom != "loo_correlation" or check.than is not None or r is None or cost is None:
            continue
        if r.number is None or cost.number is None or cost.number < LEAST:
            continue
        point = Point(str(check.method), cost.number, r.number, r.interval)
        if point not in by_part.setdefault(check.part, []):  # recorded, and judged by another check
            by_part[check.part].append(point)
    return {part: sorted(here, key=lambda point: point.passes) for part, here in by_part.items()}


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: none is cheaper with as high an r."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.passes, -point.r)):
        if not best or point.r > best[-1].r:
            best.append(point)
    return best


def draw_pareto(checks: Sequence[CheckRecord], folder: Path) -> list[Picture]:
    """Draw LOO r against cost for each spec that measured both, as PNG and SVG."""
    measured = points(checks)
    if not measured:
        return []
    import matplotlib

    pictures = []
    with matplotlib.rc_context({**SETTINGS, "axes.spines.top": True, "axes.spines.right": True}):
        for part, here in measured.items():
            _, svg = save(_pareto_figure(part, here), folder, f"pareto-{file_stem(part)}")
            listed = ", ".join(f"{point.method} {point.r:.2f} at {point.passes:.1f} passes" for point in here)
            pictures.append(Picture(svg, PARETO, f"LOO r against measured cost: {listed}.", part))
    return pictures


def _pareto_figure(part: str, points: Sequence[Point]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    along = front(points)
    axes.step([point.passes for point in along], [point.r for point in along], where="post", color="#BBBBBB", zorder=1)
    for number, point in enumerate(points, start=1):
        colour = "#D55E00" if point.method == EXACT else "#0072B2" if point in along else "#777777"
        if point.interval is not None:
            axes.vlines(point.passes, *point.interval, color=colour, linewidth=1.2)
        label = f"{number}  {in_figure(point.method)}: {point.passes:.1f}, {point.r:.2f}"
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
    axes.xaxis.set_major_formatter(LogFormatter())  # the default writes its powers of ten in TeX, which is not parsed
    axes.xaxis.set_minor_formatter(LogFormatter())
    axes.set_xlabel("cost in passes (time over that of CP-LRP)")
    axes.set_ylabel("mean Pearson r with LOO")
    axes.set_title(in_figure(file_stem(part)), fontsize=10)
    return figure


def draw_matrices(checks: Sequence[CheckRecord], folder: Path) -> list[Picture]:
    """Draw the matrix of method x rewrite of each spec that has one, as SVG; one or two rewrites are but a table."""
    cells = _of_many_rewrites(cells_of(checks))
    by_spec = {
        spec: [cell for cell in cells if cell.model == spec] for spec in dict.fromkeys(cell.model for cell in cells)
    }
    return [
        Picture(file, REWRITTEN, f"{in_one_line(here)}. The same cells are in the table below.", spec)
        for (spec, here), file in zip(by_spec.items(), save_matrix(cells, folder), strict=True)
    ]


def _of_many_rewrites(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of those models that have more rewrites than a reader takes in without a picture."""
    rewrites: dict[str, set[str]] = {}
    for cell in cells:
        rewrites.setdefault(cell.model, set()).add(cell.rewrite)
    return [cell for cell in cells if len(rewrites[cell.model]) >= FEWEST_REWRITES]


def save_matrix(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """One SVG for each model, in `folder`."""
    if not cells:
        return []
    import matplotlib

    saved = []
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "axioms", "text.parse_math": False}):
        for model in dict.fromkeys(cell.model for cell in cells):
            here = [cell for cell in cells if cell.model == model]
            saved += save(_matrix_figure(here), folder, f"rewrites_{file_stem(model)}", ("svg",))
    return saved


def _matrix_figure(cells: Sequence[Cell]) -> Figure:
    """The heatmap. cividis is readable with every kind of colour vision, and each violated cell has its number."""
    import numpy as np
    from matplotlib.figure import Figure

    methods = list(dict.fromkeys(cell.method for cell in cells))
    rewrites = list(dict.fromkeys(cell.rewrite for cell in cells))
    sizes = np.full((len(methods), len(rewrites)), np.nan)
    figure = Figure(figsize=(3.6 + 0.5 * len(rewrites), 2.4 + 0.36 * len(methods)), layout="constrained")
    axes = figure.add_subplot()
    for cell in cells:
        row, column = methods.index(cell.method), rewrites.index(cell.rewrite)
        if cell.gap is not None:
            sizes[row, column] = math.log10(min(max(cell.gap, SMALLEST), LARGEST))
        bright = cell.gap is not None and cell.gap > 1e-3
        text = {"violated": f"{cell.gap or math.nan:.0e}", "refused": "no rule", "holds": ""}.get(cell.verdict, "?")
        if not text:
            continue
        axes.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=6,
            color="black" if bright or cell.gap is None else "white",
        )
    scale = (math.log10(SMALLEST), math.log10(LARGEST))
    image = axes.imshow(sizes, cmap="cividis", vmin=scale[0], vmax=scale[1], aspect="auto")
    axes.set_facecolor("lightgray")
    axes.set_xticks(range(len(rewrites)), [*map(in_figure, rewrites)], rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(methods)), [*map(in_figure, methods)], fontsize=8)
    axes.set_title(
        f"{in_figure(file_stem(cells[0].model))}: relative gap of the relevance, original and rewritten", fontsize=9
    )
    bar = figure.colorbar(image, ax=axes)
    ticks = [-9, -6, -3, 0]
    bar.set_ticks(ticks, labels=["holds (below 1e-9)", *(f"1e{tick}" for tick in ticks[1:-1]), "1 or more"])
    return figure
