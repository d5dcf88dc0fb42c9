"""Everything that a run leaves beside its results.json, from that document alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axioms.report.agreement import write_agreement
from axioms.report.files import run_tables, write_tables
from axioms.report.gallery import draw_all
from axioms.report.html import html_page
from axioms.report.results import write_whole


@dataclass(frozen=True)
class Written:
    """The files of a report."""

    page: Path
    tables: list[Path]
    agreement: list[Path]
    figures: list[Path]


def write_report(document: dict[str, Any], folder: Path, root: Path) -> Written:
    """Write the tables, the figures and index.html; the names of specs start from `root`."""
    records = document["checks"]
    folder.mkdir(parents=True, exist_ok=True)
    tables, agreement = write_tables(records, folder), write_agreement(records, folder)
    pictures = draw_all(records, folder / "figures")
    page = folder / "index.html"
    write_whole(page, html_page(document, run_tables(records), pictures, root))
    return Written(page, tables, agreement, [picture.file for picture in pictures])
