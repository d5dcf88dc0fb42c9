"""What all figures share: their look, their captions, and saving them so that equal numbers give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "axioms",
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#3A87AD", "#444444", "#7F3C8D")
"""Okabe and Ito's, told apart by colour-blind readers, the light ones darkened; `MARKERS` help the rest."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@dataclass(frozen=True)
class Picture:
    """A figure and where it belongs."""

    file: Path
    caption: str
    alternative: str
    """What it shows, in words, for a reader who cannot see it."""
    part: str | None = None
    """The spec, or the subject of it; None where several feed it: a figure of the paper."""


def save(figure: Figure, folder: Path, name: str, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figure as each of these kinds of file. It must have been drawn under `SETTINGS`."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{kind}" for kind in kinds]
    for file in files:
        figure.savefig(file, dpi=200, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def file_stem(part: str) -> str:
    """Return the name of a file about a spec, or about one of its subjects: `a` for specs/a.yaml."""
    return re.sub(r"[^\w.-]+", "-", Path(part).name.replace(".yaml", "").replace(".yml", ""))


def look(index: int) -> dict[str, Any]:
    """Return the colour and marker of the line with this number."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
