"""Relevance of images for both models of a pair, and its difference. Imports matplotlib only when it draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.report.drawing import SETTINGS, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]
Pixels = list[list[float]]
COLUMNS = ("image", "left", "right", "left − right")


def maps_of(records: Sequence[Record]) -> dict[str, dict[str, dict[str, Any]]]:
    """By spec and method: the first image, with its relevance on the left and on the right."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for record in records:
        shown = [each for each in record.get("examples") or () if "image" in each]
        if shown:
            found.setdefault(record["spec"], {}).setdefault(record["method"], shown[0])
    return found


def save_maps(records: Sequence[Record], folder: Path) -> dict[Path, str]:
    """One figure for each spec about images; the SVG files that were written, with their spec."""
    every = maps_of(records)
    if not every:
        return {}
    import matplotlib

    written = {}
    with matplotlib.rc_context({**SETTINGS, "axes.grid": False}):
        for spec, by_method in every.items():
            (file,) = save(_figure(by_method), folder, f"maps-{Path(spec).stem}", ("svg",))
            written[file] = spec
    return written


def _figure(by_method: dict[str, dict[str, Any]]) -> Figure:
    """A row for each method, with one scale for all its maps: the difference can be compared with them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 0.98 * len(by_method) + 0.3), layout="constrained")
    panels = figure.subplots(len(by_method), len(COLUMNS), squeeze=False)
    for down, (method, one) in enumerate(by_method.items()):
        left, right = one["left"], one["right"]
        apart = [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]
        largest = max((abs(value) for side in (left, right) for row in side for value in row), default=0.0) or 1.0
        panels[down][0].imshow(one["image"], cmap="gray", interpolation="nearest")
        for axes, values in zip(panels[down][1:], (left, right, apart), strict=True):
            axes.imshow(values, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
        panels[down][0].set_ylabel(method, rotation=0, ha="right", va="center", fontsize=8)
        gap = max(abs(value) for row in apart for value in row) / largest
        panels[down][3].text(1.06, 0.5, f"{gap:.0%}", transform=panels[down][3].transAxes, va="center", fontsize=8)
    for axes in panels.flat:
        _bare(axes)
    for axes, title in zip(panels[0], COLUMNS, strict=True):
        axes.set_title(title, fontsize=9)
    return figure


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
