"""Figures of sweeps over layers, beside the paper's: one for each table of layers. Imports matplotlib to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.papers import PAPERS
from axioms.papers.layers import LayerBlock, layer_blocks
from axioms.papers.layouts import LayerLayout
from axioms.papers.tables import feeding
from axioms.record import RunRecord
from axioms.report.drawing import SETTINGS, Picture, in_figure, look, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_layers(run: RunRecord, folder: Path) -> list[Picture]:
    """Draw the figure of every table of layers that the run feeds, as PNG and SVG."""
    pictures = []
    for paper in PAPERS.values():
        for name, layout in paper.tables.items():
            if isinstance(layout, LayerLayout):
                blocks = layer_blocks(layout, feeding(run.checks, name))
                pictures += [_draw_figure(layout, blocks, folder)] if blocks else []
    return pictures


def _draw_figure(layout: LayerLayout, blocks: Sequence[LayerBlock], folder: Path) -> Picture:
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        _, svg = save(layer_figure(layout, blocks), folder, layout.figure.name)
    return Picture(svg, layout.figure.caption, layout.figure.alternative)


def layer_figure(layout: LayerLayout, blocks: Sequence[LayerBlock]) -> Figure:
    """A column of panels for each sweep, a row for each metric that any of them has."""
    # Not pyplot: it would pick a window system and keep every figure.
    from matplotlib.figure import Figure

    rows = [title for title in layout.baselines if any(block.has(title) for block in blocks)]
    width, height = 3.6 * len(blocks) + 0.4, 2.8 * len(rows) + 0.9
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(len(rows), len(blocks), squeeze=False)
    for down, title in enumerate(rows):
        for across, block in enumerate(blocks):
            axes = panels[down][across]
            _draw(axes, layout, block, title)
            axes.set_title(f"{layout.figure.axes.get(title, title)}\n{in_figure(block.heading)}", fontsize=9)
            axes.set_xlabel(f"layer k of {block.layers}")
        _share_axes({axes: block.layers for axes, block in zip(panels[down], blocks, strict=True)})
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = 4 if len(blocks) > 1 else 2
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _share_axes(layers: Mapping[Axes, int]) -> None:
    """Give panels of equally many layers one vertical scale, the paper's among them: they can be compared."""
    for depth in set(layers.values()):
        alike = [axes for axes, layers_of_it in layers.items() if layers_of_it == depth]
        limits = [axes.get_ylim() for axes in alike]
        for axes in alike:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _draw(axes: Axes, layout: LayerLayout, block: LayerBlock, title: str) -> None:
    layers = list(range(1, block.layers + 1))
    for number, mode in enumerate(layout.modes):
        ours, paper = block.ours.get((mode.metric, title)), block.paper.get((mode.metric, title))
        label = f"{mode.title} ({mode.label.format('k')})"
        style = look(number)
        if ours:
            axes.plot(layers, _drawn(ours), "-", markersize=4.5, linewidth=1.7, zorder=3, label=label, **style)
            _shade(axes, block, (mode.metric, title), style["color"])
        if paper:
            style |= {"markersize": 3.5, "markerfacecolor": "white", "linewidth": 1.1, "alpha": 0.75}
            axes.plot(layers, _drawn(paper), "--", zorder=2, label=f"{mode.title}, paper", **style)
    if title in block.baseline:
        axes.axhline(block.baseline[title], color="#444444", linestyle=":", linewidth=1.3, label=layout.figure.baseline)
    step = 1 if block.layers <= 12 else 2 if block.layers <= 24 else 4
    axes.set_xticks(layers[::step])
    axes.set_xlim(0.5, block.layers + 0.5)
    axes.locator_params(axis="y", nbins=6)


def _shade(axes: Axes, block: LayerBlock, key: tuple[str, str], colour: str) -> None:
    """The interval of each layer's mean, where there is one."""
    known = {layer: ends for layer, ends in enumerate(block.intervals.get(key, ()), start=1) if ends is not None}
    if known:
        low, high = zip(*known.values(), strict=True)
        axes.fill_between(list(known), low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)


def _drawn(values: Sequence[float]) -> list[float]:
    """Numbers that are not finite leave a gap."""
    return [value if math.isfinite(value) else math.nan for value in values]
