"""The paper's tables of a run, beside its results.json; and a saved run read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axioms.core.errors import InputError, did_you_mean, display_path
from axioms.papers.layouts import LAYOUTS
from axioms.report.agreement_tables import PREFIX, agreement_tables
from axioms.report.grid import Grid
from axioms.report.latex import document
from axioms.report.paper import paper_tables
from axioms.report.render import RENDERERS
from axioms.run.records import read_results

Record = dict[str, Any]


def run_tables(records: Sequence[Record]) -> list[Grid]:
    """Every table of either paper that the run feeds."""
    return [*paper_tables(records), *agreement_tables(records)]


def write_tables(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write tables/*.md, .tex and .csv for whatever the run feeds.

    Those that an earlier run left and this one does not feed are removed: they would not be of this results.json.
    """
    written = []
    for grid in run_tables(records):
        for kind, render in RENDERERS.items():
            file = folder / "tables" / f"{grid.name}.{kind}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(render(grid), encoding="utf-8")
            written.append(file)
    possible = [folder / "tables" / f"{name}.{kind}" for name in LAYOUTS for kind in RENDERERS]
    for file in (*possible, *(folder / "tables").glob(f"{PREFIX}*")):
        if file not in written:
            file.unlink(missing_ok=True)
    return written


def print_paper(run: Path, kind: str, name: str | None) -> str:
    """The tables of a saved run, or one of them, as text."""
    return "\n".join(RENDERERS[kind](grid) for grid in chosen_tables(run, name))


def print_document(run: Path, name: str | None) -> str:
    """The same as a LaTeX document that compiles as it is."""
    return document(chosen_tables(run, name))


def chosen_tables(run: Path, name: str | None) -> list[Grid]:
    """The tables of a saved run, or the one of that name."""
    grids = {grid.name: grid for grid in run_tables(read_results(run)["checks"])}
    if not grids:
        raise InputError(
            f"{display_path(run)} feeds no table: none of its specs has a `table`, or is about the agreement benchmark."
        )
    if name is not None and name not in grids:
        raise InputError(f"{display_path(run)} has no table {name!r}.{did_you_mean(name, grids)}")
    return list(grids.values()) if name is None else [grids[name]]
