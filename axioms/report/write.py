"""Everything that a run leaves beside its results.json, from that record alone."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from axioms.core.errors import display_path
from axioms.core.files import write_whole
from axioms.papers.tables import every_table
from axioms.record import RunRecord
from axioms.report.attempts import Attempts
from axioms.report.drawing import Picture
from axioms.report.figures_layers import draw_layers
from axioms.report.figures_methods import draw_matrices, draw_pareto
from axioms.report.figures_relevance import draw_curves, draw_maps
from axioms.report.heatmaps import write_heatmaps
from axioms.report.html import html_page
from axioms.report.render import write_paper_pages, write_tables
from axioms.report.spec_tables import write_spec_tables

FIGURES = {
    draw_curves: "the figures of curves",
    draw_maps: "the figures of relevance",
    draw_matrices: "the matrices of methods",
    draw_pareto: "the figure of cost",
}


@dataclass(frozen=True)
class Written:
    """The files of a report."""

    page: Path
    """index.html."""
    tables: list[Path]
    pages: list[Path]
    """Of papers that have one of their own, and of heatmaps."""
    figures: list[Path]
    problems: list[str]
    """What could not be made, and why."""


def write_report(run: RunRecord, folder: Path, root: Path) -> Written:
    """Write the tables, the figures and index.html; the names of specs start from `root`.

    A part that raises is named among the problems, and costs no other.
    """
    parts = Attempts()
    parts.make(display_path(folder), lambda: folder.mkdir(parents=True, exist_ok=True))
    grids = parts.make("the papers' tables", lambda: every_table(run)) or []
    tables = parts.make("the papers' tables", lambda: write_tables(grids, folder / "tables")) or []
    parts.make("the tables of the specs", lambda: write_spec_tables(run, folder / "tables"))
    pages = [
        *(parts.make("the pages of the papers", lambda: write_paper_pages(run, folder)) or []),
        *(parts.make("the heatmaps", lambda: write_heatmaps(run, folder)) or []),
    ]
    pictures = draw_all(run, folder / "figures", parts)
    page = folder / "index.html"
    parts.make(page.name, lambda: write_whole(page, html_page(run, grids, pictures, root)))
    return Written(page, tables, pages, [picture.file for picture in pictures], parts.problems)


def draw_all(run: RunRecord, folder: Path, parts: Attempts | None = None) -> list[Picture]:
    """Draw what the run feeds. What an earlier run left there is removed: it would not be of this results.json."""
    parts = parts or Attempts()
    pictures = parts.make("the figures of layers", lambda: draw_layers(run, folder)) or []
    for draw, what in FIGURES.items():
        pictures += parts.make(what, partial(draw, run.checks, folder)) or []
    drawn = {picture.file.stem for picture in pictures}
    parts.make("the folder of figures", lambda: _remove_others(folder, drawn))
    return pictures


def _remove_others(folder: Path, drawn: Container[str]) -> None:
    for file in folder.glob("*"):
        if file.suffix in (".svg", ".png") and file.stem not in drawn:
            file.unlink()
