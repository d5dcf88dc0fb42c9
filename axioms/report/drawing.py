"""What all figures share: their look, their captions, and saving them so that equal numbers give equal bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.core.printable import printable

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
    "text.parse_math": False,
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#3A87AD", "#444444", "#7F3C8D")
"""Okabe and Ito's, told apart by colour-blind readers, the light ones darkened; `MARKERS` help the rest."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


LONGEST_LABEL = 40
"""Characters of a label in a figure; longer ones would leave no room for what they label."""
LONGEST_NAME = 120
"""Bytes of a file's name that come from a spec; file systems take 255 in all."""


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
    layout = figure.get_layout_engine()
    if layout is not None:  # once; saving would lay out and draw the figure anew for each file, before drawing it
        layout.execute(figure)
        figure.set_layout_engine(None)
    for file in files:
        figure.savefig(file, dpi=200, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


def file_stem(part: str) -> str:
    """Return the name of a file about a spec, or about one of its subjects: `a` for specs/a.yaml."""
    return as_file_name(Path(part).name.replace(".yaml", "").replace(".yml", ""))


def as_file_name(text: str) -> str:
    """Return a text as the name of a file, without an ending; a long one is cut and has its digest behind it."""
    name = re.sub(r"[^\w.-]+", "-", text)
    if len(name.encode()) <= LONGEST_NAME:
        return name
    return f"{name.encode()[:LONGEST_NAME].decode(errors='ignore')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def in_figure(text: str) -> str:
    """Return a text as a figure has room for it, with three dots in the middle of one that is longer."""
    shown, half = printable(text), LONGEST_LABEL // 2
    return shown if len(shown) <= LONGEST_LABEL else f"{shown[:half]}...{shown[3 - half :]}"


def look(index: int) -> dict[str, Any]:
    """Return the colour and marker of the line with this number."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
