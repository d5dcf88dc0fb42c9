"""Figure 2: what bypassing the softmax does, layer by layer. Imports matplotlib only when it draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.papers.layouts import LAYOUTS, LayerLayout
from axioms.report.drawing import SETTINGS, save
from axioms.report.paper import feeding
from axioms.report.series import LayerBlock, layer_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]

STYLES = {
    "front_to_back": ("#0072B2", "o"),
    "back_to_front": ("#D55E00", "s"),
    "single": ("#009E73", "^"),
}
"""Colour (Okabe and Ito's, told apart by colour-blind readers) and marker of each mode."""
LABELS = {"LOO r": "Pearson r with LOO", "Δ": "Δ = LeRF − MoRF"}
"""The figure's name of a column."""


def save_figures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the figure of every table of layers that the run feeds, as PNG and SVG."""
    written = []
    for name, layout in LAYOUTS.items():
        if not isinstance(layout, LayerLayout):
            continue
        blocks = layer_blocks(layout, feeding(records, name))
        if blocks:
            written += _save(layout, blocks, folder)
    return written


def _save(layout: LayerLayout, blocks: Sequence[LayerBlock], folder: Path) -> list[Path]:
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        return save(layer_figure(layout, blocks), folder, layout.figure)


def layer_figure(layout: LayerLayout, blocks: Sequence[LayerBlock]) -> Figure:
    """A column of panels for each sweep, a row for each metric that any of them has."""
    # Not pyplot: it would pick a window system and keep every figure.
    from matplotlib.figure import Figure

    rows = [title for title in layout.baselines if any(block.has(title) for block in blocks)]
    width, height = 3.6 * len(blocks) + 0.4, 2.5 * len(rows) + 0.9
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = figure.subplots(len(rows), len(blocks), squeeze=False)
    for down, title in enumerate(rows):
        for across, block in enumerate(blocks):
            axes = panels[down][across]
            _draw(axes, layout, block, title)
            if down == 0:
                axes.set_title(block.title if block.n is None else f"{block.title} (n = {block.n})", fontsize=10)
            if down == len(rows) - 1:
                axes.set_xlabel("layer k")
            if across == 0:
                axes.set_ylabel(LABELS.get(title, title))
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = 4 if len(blocks) > 1 else 2
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)
    return figure


def _draw(axes: Axes, layout: LayerLayout, block: LayerBlock, title: str) -> None:
    layers = list(range(1, block.layers + 1))
    for mode in layout.modes:
        colour, marker = STYLES[mode.metric]
        ours, paper = block.ours.get((mode.metric, title)), block.paper.get((mode.metric, title))
        label = f"{mode.title} ({mode.label.format('k')})"
        look: dict[str, Any] = {"color": colour, "marker": marker}
        if ours:
            axes.plot(layers, _floats(ours), "-", markersize=4.5, linewidth=1.7, zorder=3, label=label, **look)
            _shade(axes, block, (mode.metric, title), colour)
        if paper:
            look |= {"markersize": 3.5, "markerfacecolor": "white", "linewidth": 1.1, "alpha": 0.75}
            axes.plot(layers, _floats(paper), "--", zorder=2, label=f"{mode.title}, paper", **look)
    if title in block.baseline:
        axes.axhline(block.baseline[title], color="#444444", linestyle=":", linewidth=1.3, label="no bypass (AttnLRP)")
    step = 1 if block.layers <= 12 else 2 if block.layers <= 24 else 4
    axes.set_xticks(layers[::step])
    axes.set_xlim(0.5, block.layers + 0.5)
    axes.locator_params(axis="y", nbins=6)


def _shade(axes: Axes, block: LayerBlock, key: tuple[str, str], colour: str) -> None:
    """The interval of each layer's mean, where there is one."""
    known = {layer: each for layer, each in enumerate(block.intervals.get(key, ()), start=1) if each is not None}
    if known:
        low, high = zip(*known.values(), strict=True)
        axes.fill_between(list(known), low, high, color=colour, alpha=0.13, linewidth=0, zorder=1)


def _floats(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
