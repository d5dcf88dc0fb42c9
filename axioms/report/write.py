"""Everything that a run leaves beside its results.json, from that record alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from axioms.core.files import write_whole
from axioms.papers.tables import every_table
from axioms.record import RunRecord
from axioms.report.drawing import Picture
from axioms.report.figures_layers import draw_layers
from axioms.report.figures_methods import draw_matrices, draw_pareto
from axioms.report.figures_relevance import draw_curves, draw_maps
from axioms.report.heatmaps import write_heatmaps
from axioms.report.html import html_page
from axioms.report.render import write_paper_pages, write_tables
from axioms.report.spec_tables import write_spec_tables


@dataclass(frozen=True)
class Written:
    """The files of a report."""

    page: Path
    """index.html."""
    tables: list[Path]
    pages: list[Path]
    """Of papers that have one of their own, and of heatmaps."""
    figures: list[Path]


def write_report(run: RunRecord, folder: Path, root: Path) -> Written:
    """Write the tables, the figures and index.html; the names of specs start from `root`."""
    folder.mkdir(parents=True, exist_ok=True)
    grids = every_table(run)
    tables = write_tables(grids, folder / "tables")
    write_spec_tables(run, folder / "tables")
    pages = [*write_paper_pages(run, folder), *write_heatmaps(run, folder)]
    pictures = draw_all(run, folder / "figures")
    page = folder / "index.html"
    write_whole(page, html_page(run, grids, pictures, root))
    return Written(page, tables, pages, [picture.file for picture in pictures])


def draw_all(run: RunRecord, folder: Path) -> list[Picture]:
    """Draw what the run feeds. What an earlier run left there is removed: it would not be of this results.json."""
    pictures = draw_layers(run, folder)
    for draw in (draw_curves, draw_maps, draw_matrices, draw_pareto):
        pictures += draw(run.checks, folder)
    drawn = {picture.file.stem for picture in pictures}
    for file in folder.glob("*"):
        if file.suffix in (".svg", ".png") and file.stem not in drawn:
            file.unlink()
    return pictures
