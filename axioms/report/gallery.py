"""Every figure of a run, drawn into one folder, with what a reader who cannot see it should be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axioms.report.figures import save_figures
from axioms.report.figures_curves import save_curves
from axioms.report.figures_maps import maps_of, save_maps
from axioms.report.figures_matrix import save_matrix
from axioms.report.pareto import points, save_pareto
from axioms.report.rewrites import cells_of, in_one_line

Record = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure and where it belongs."""

    file: Path
    caption: str
    alternative: str
    """What it shows, in words."""
    spec: str | None = None
    """None where several specs feed it: a figure of the paper."""


def draw_all(records: Sequence[Record], folder: Path) -> list[Picture]:
    """Draw what the run feeds. What an earlier run left there is removed: it would not be of this results.json."""
    pictures = [*_layers(records, folder), *_curves(records, folder), *_maps(records, folder)]
    pictures += [*_matrices(records, folder), *_pareto(records, folder)]
    drawn = {picture.file.stem for picture in pictures}
    for file in folder.glob("*"):
        if file.suffix in (".svg", ".png") and file.stem not in drawn:
            file.unlink()
    return pictures


def _layers(records: Sequence[Record], folder: Path) -> list[Picture]:
    said = "LOO r and the difference of the perturbation areas as layers' softmax is bypassed: front to back, back to "
    said += "front and one at a time. The same numbers are in Table A3."
    files = [file for file in save_figures(records, folder) if file.suffix == ".svg"]
    return [Picture(file, "Figure 2: bypassing the softmax, layer by layer", said) for file in files]


def _curves(records: Sequence[Record], folder: Path) -> list[Picture]:
    pictures = []
    for file, curves in save_curves(records, folder).items():
        side = f", {curves.side} model" if curves.side else ""
        ends = {method: line[len(line) // 2] for method, line in next(iter(curves.panels.values())).items()}
        halves = ", ".join(f"{method} {value:.2f}" for method, value in sorted(ends.items(), key=lambda each: each[1]))
        said = f"Mean output while features go. After half of them, most relevant first: {halves}."
        pictures.append(Picture(file, f"{curves.axiom} curves{side}", said, curves.spec))
    return pictures


def _maps(records: Sequence[Record], folder: Path) -> list[Picture]:
    methods = {spec: ", ".join(by_method) for spec, by_method in maps_of(records).items()}
    caption = "Relevance of each pixel for the left and for the right model: red positive, blue negative"
    said = "An image, its relevance by {} for the left and the right model, and the difference; beside each row the "
    said += "largest difference as a share of the largest relevance."
    return [
        Picture(file, caption, said.format(methods[spec]), spec) for file, spec in save_maps(records, folder).items()
    ]


def _matrices(records: Sequence[Record], folder: Path) -> list[Picture]:
    cells = cells_of(records)
    models = list(dict.fromkeys(cell.model for cell in cells))
    return [
        Picture(
            file,
            "Methods and rewrites: how far apart the relevance of the original and of the rewritten model is",
            f"{in_one_line([cell for cell in cells if cell.model == model])}. The same cells are in the table below.",
            model,
        )
        for model, file in zip(models, save_matrix(cells, folder), strict=True)
    ]


def _pareto(records: Sequence[Record], folder: Path) -> list[Picture]:
    files = [file for file in save_pareto(records, folder) if file.suffix == ".svg"]
    pictures = []
    for file, (spec, found) in zip(files, points(records).items(), strict=True):
        listed = ", ".join(f"{each.method} {each.r:.2f} at {each.passes:.1f} passes" for each in found)
        pictures.append(Picture(file, "LOO r against cost", f"LOO r against measured cost: {listed}.", spec))
    return pictures
