"""Figures of one spec's relevance: curves of the output while features go, and maps of images for both models.

Imports matplotlib only to draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from axioms.record import CheckRecord, ImageExample
from axioms.report.drawing import SETTINGS, Picture, file_stem, in_figure, look, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("image", "left", "right", "left − right")
"""Of a figure of maps."""
PANELS = {
    "perturbation": {"morf_curve": "most relevant first (MoRF)", "lerf_curve": "least relevant first (LeRF)"},
    "insertion_deletion": {"deletion_curve": "deletion", "insertion_curve": "insertion"},
}
"""By axiom: its curves and what their panels are called."""
CAPTIONS = {
    "perturbation": "The mean output while features are removed by their relevance{}. A good method falls at once on "
    "the left, where the most relevant go first, and stays up on the right, where the least relevant do; the area "
    "between is Δ.",
    "insertion_deletion": "The mean probability of the predicted class while features are deleted or inserted by their "
    "relevance{}. A good method falls at once when they are deleted and rises at once when they are inserted.",
}
AXES = {"perturbation": "mean output", "insertion_deletion": "mean probability"}


class Curves(NamedTuple):
    """The mean curves of one spec under one axiom, on one side of its pair."""

    part: str
    axiom: str
    side: str
    panels: dict[str, dict[str, list[float]]]
    """By curve and method: the means over the examples, on an even grid from 0 to 1."""

    @property
    def name(self) -> str:
        """Of its file."""
        return "-".join(text for text in ("curves", file_stem(self.part), self.axiom, self.side) if text)


def curves_of(checks: Sequence[CheckRecord]) -> list[Curves]:
    """The mean curves among the checks of a run."""
    curves: dict[tuple[str, str, str], Curves] = {}
    for check in checks:
        if check.axiom not in PANELS or check.than is not None:
            continue
        for name, curve in check.curves.items():
            side, _, kind = name.rpartition(".")
            if kind in PANELS[check.axiom] and all(map(math.isfinite, curve.mean)):
                key = (check.part, check.axiom, side)
                panels = curves.setdefault(key, Curves(*key, {})).panels
                panels.setdefault(kind, {})[str(check.method)] = curve.mean
    return list(curves.values())


def draw_curves(checks: Sequence[CheckRecord], folder: Path) -> list[Picture]:
    """Draw the curves of every spec that measured some, as SVG."""
    every = curves_of(checks)
    if not every:
        return []
    import matplotlib

    pictures = []
    with matplotlib.rc_context(SETTINGS):
        for curves in every:
            (file,) = save(_curves_figure(curves), folder, curves.name, ("svg",))
            side = f", {curves.side} model" if curves.side else ""
            pictures.append(Picture(file, CAPTIONS[curves.axiom].format(side), _in_words(curves), curves.part))
    return pictures


def _in_words(curves: Curves) -> str:
    first = next(iter(curves.panels.values()))
    halves = sorted((line[len(line) // 2], method) for method, line in first.items())
    listed = ", ".join(f"{method} {value:.2f}" for value, method in halves)
    return f"Mean output while features go. After half of them, most relevant first: {listed}."


def _curves_figure(curves: Curves) -> Figure:
    from matplotlib.figure import Figure

    titles = {name: title for name, title in PANELS[curves.axiom].items() if name in curves.panels}
    figure = Figure(figsize=(3.7 * len(titles) + 0.4, 3.7), layout="constrained")
    panels = figure.subplots(1, len(titles), squeeze=False, sharey=True)[0]
    methods = list(dict.fromkeys(method for lines in curves.panels.values() for method in lines))
    for axes, (name, title) in zip(panels, titles.items(), strict=True):
        _draw_lines(axes, curves.panels[name], methods)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("share of the features")
    panels[0].set_ylabel(AXES[curves.axiom])
    handles = dict(zip(*panels[0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_lines(axes: Axes, lines: Mapping[str, Sequence[float]], methods: Sequence[str]) -> None:
    for method, means in lines.items():
        shares = [step / (len(means) - 1) for step in range(len(means))]
        style = look(methods.index(method))
        axes.plot(shares, means, "-", markersize=4, markevery=4, linewidth=1.5, label=in_figure(method), **style)


def maps_of(checks: Sequence[CheckRecord]) -> dict[str, dict[str, ImageExample]]:
    """By part of the run and method: the image that differs most, with its relevance on the left and on the right."""
    maps: dict[str, dict[str, ImageExample]] = {}
    for check in checks:
        for example in check.examples:
            if isinstance(example, ImageExample):
                maps.setdefault(check.part, {}).setdefault(str(check.method), example)
    return maps


def draw_maps(checks: Sequence[CheckRecord], folder: Path) -> list[Picture]:
    """Draw one figure for each spec about images, as SVG."""
    every = maps_of(checks)
    if not every:
        return []
    import matplotlib

    caption = "Relevance of each pixel for the left and for the right model, each method on the image on which its two "
    caption += (
        "maps differ most: red positive, blue negative. A method that cannot tell the models apart leaves the last "
    )
    caption += "column blank; the share beside it is the largest difference over the largest relevance."
    said = "An image, its relevance by {} for the left and the right model, and the difference; beside each row the "
    said += "largest difference as a share of the largest relevance."
    pictures = []
    with matplotlib.rc_context({**SETTINGS, "axes.grid": False}):
        for part, by_method in every.items():
            (file,) = save(_maps_figure(by_method), folder, f"maps-{file_stem(part)}", ("svg",))
            pictures.append(Picture(file, caption, said.format(", ".join(by_method)), part))
    return pictures


def _maps_figure(by_method: Mapping[str, ImageExample]) -> Figure:
    """A row for each method, with one scale for all its maps: the difference can be compared with them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 0.98 * len(by_method) + 0.3), layout="constrained")
    panels = figure.subplots(len(by_method), len(COLUMNS), squeeze=False)
    for down, (method, example) in enumerate(by_method.items()):
        left, right = example.left, example.right
        apart = [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]
        largest = max((abs(value) for side in (left, right) for row in side for value in row), default=0.0) or 1.0
        panels[down][0].imshow(example.image, cmap="gray", interpolation="nearest")
        for axes, values in zip(panels[down][1:], (left, right, apart), strict=True):
            axes.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
        panels[down][0].set_ylabel(in_figure(method), rotation=0, ha="right", va="center", fontsize=8)
        gap = max(abs(value) for row in apart for value in row) / largest
        panels[down][3].text(1.06, 0.5, f"{gap:.0%}", transform=panels[down][3].transAxes, va="center", fontsize=8)
    for axes in panels.flat:
        _without_axes(axes)
    for axes, title in zip(panels[0], COLUMNS, strict=True):
        axes.set_title(title, fontsize=9)
    return figure


def _without_axes(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
