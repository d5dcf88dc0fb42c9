"""The matrix of method x rewrite as a heatmap: the size of the gap by colour, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.report.drawing import save
from axioms.report.rewrites import Cell

SMALLEST, LARGEST = 1e-9, 1.0
"""Ends of the colour scale: what holds, and a gap as large as the relevance itself."""


def save_matrix(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """One SVG for each model, in `folder`."""
    if not cells:
        return []
    import matplotlib

    saved = []
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "axioms"}):
        for model in dict.fromkeys(cell.model for cell in cells):
            mine = [cell for cell in cells if cell.model == model]
            saved += save(draw(mine), folder, f"rewrites_{Path(model).stem}", ("svg",))
    return saved


def draw(cells: Sequence[Cell]) -> Any:
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
    axes.set_xticks(range(len(rewrites)), rewrites, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(methods)), methods, fontsize=8)
    axes.set_title(f"{Path(cells[0].model).stem}: relative gap of the relevance, original and rewritten", fontsize=9)
    bar = figure.colorbar(image, ax=axes)
    ticks = [-9, -6, -3, 0]
    bar.set_ticks(ticks, labels=["holds (below 1e-9)", *(f"1e{tick}" for tick in ticks[1:-1]), "1 or more"])
    return figure
