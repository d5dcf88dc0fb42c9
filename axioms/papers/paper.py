"""A paper as reports know it, and the registry of them. A new paper is one file that calls `register`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from axioms.core.registry import CLAIMS, TABLES
from axioms.papers.claims import PaperClaim
from axioms.papers.layouts import Layout

if TYPE_CHECKING:
    from axioms.papers.grid import Grid
    from axioms.record import RunRecord


@dataclass(frozen=True)
class PaperPage:
    """A Markdown page of its own with all tables of a paper."""

    name: str
    """Of the file, without its ending."""
    heading: str
    remarks: Callable[[RunRecord], Sequence[str]]
    """The lines below the tables."""


@dataclass(frozen=True)
class Paper:
    """The tables of a paper: those that specs name, and those that it makes of a run by itself."""

    key: str
    """For example `you2025`."""
    title: str
    """As tables cite it: `You et al. 2025`."""
    methods: Mapping[str, str] = field(default_factory=dict)
    """Its names of methods by our labels, in its order; methods that it does not have keep theirs and come after."""
    tables: Mapping[str, Layout] = field(default_factory=dict)
    """Layouts by the name that a spec gives: `table: {name: table-2, block: SST}`."""
    make_tables: Callable[[RunRecord], Sequence[Grid]] | None = None
    """Further tables, straight from a run."""
    page: PaperPage | None = None
    claims: tuple[PaperClaim, ...] = ()
    """The rows of its scorecard, in the paper's order."""
    name: str = ""
    """Its full title, which heads its scorecard."""


PAPERS: dict[str, Paper] = {}


def register(paper: Paper) -> Paper:
    """Add a paper, so that specs can name its tables and claims and reports show them."""
    for name in paper.tables:
        owner = next((other for other in PAPERS.values() if name in other.tables and other.key != paper.key), None)
        if owner is not None:
            raise ValueError(
                f"table {name!r} of {paper.key!r} is already one of {owner.key!r}; call it {paper.key}-{name}"
            )
    PAPERS[paper.key] = paper
    TABLES.update(paper.tables)
    CLAIMS[paper.key] = {claim.key: claim for claim in paper.claims}
    return paper
