"""index.html: a run as one page that needs nothing else, from its record."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from axioms.papers.grid import Grid
from axioms.record import CheckRecord, RunRecord
from axioms.report.drawing import Picture
from axioms.report.page import KINDS, Section, anchor_of, counts_of, matrix_of, sections_of, verdict_of

EMBEDDED = {"id", "spec", "axiom", "method", "than", "rewrite", "verdict", "passed", "metrics", "reported", "place"}
"""What the page's own data has of each check; single values and examples are in results.json."""


def html_page(run: RunRecord, grids: Sequence[Grid], pictures: Sequence[Picture], root: Path) -> str:
    """The whole page. `root` is the folder that the specs' names start from: their lines are shown in the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    sections = sections_of(run, pictures)
    axioms, matrix = matrix_of(run.checks)
    environment = Environment(
        loader=PackageLoader("axioms.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["picture"] = _data_address
    return environment.get_template("index.html").render(
        run=run,
        verdict=verdict_of(run),
        counts=counts_of(run.checks),
        kinds=KINDS,
        axioms=axioms,
        matrix=matrix,
        grids=grids,
        shared=[picture for picture in pictures if picture.part is None],
        sections=sections,
        methods=sorted({entry.method for section in sections for entry in section.entries}),
        every_axiom=sorted({entry.axiom for section in sections for entry in section.entries}),
        skipped=Counter(check.reason for check in run.skipped).most_common(),
        sources=_sources(sections, root),
        data=_embedded(run),
    )


def _data_address(picture: Picture) -> str:
    """The picture itself as an address, so that the page is one file."""
    return "data:image/svg+xml;base64," + base64.b64encode(picture.file.read_bytes()).decode("ascii")


def _sources(sections: Iterable[Section], root: Path) -> dict[str, tuple[str, list[str]]]:
    """The lines of every spec that a check points to, by its name; those that are no longer there are left out."""
    names = dict.fromkeys(
        name for section in sections for name in (section.spec, *(entry.file for entry in section.entries))
    )
    return {
        name: (anchor_of(name), (root / name).read_text(encoding="utf-8", errors="replace").splitlines())
        for name in names
        if (root / name).is_file()
    }


def _embedded(run: RunRecord) -> str:
    """The run as JSON that may stand in a page."""
    head = run.model_dump_json(exclude={"checks"})
    checks = ",".join(_embedded_check(check) for check in run.checks)
    return f'{head[:-1]},"checks":[{checks}]}}'.replace("<", "\\u003c")


def _embedded_check(check: CheckRecord) -> str:
    return check.model_dump_json(include=EMBEDDED)
