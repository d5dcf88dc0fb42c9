"""index.html: a run as one page that needs nothing else, from its record."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from axioms.papers.grid import Grid
from axioms.record import RunRecord
from axioms.report.drawing import Picture
from axioms.report.page.glossary import Explainer, entries
from axioms.report.page.headline import drifted, errors_table, failures_table, headline_of, is_unshown, rest_of
from axioms.report.page.matrix import matrix_of
from axioms.report.page.outcomes import KINDS, anchor_of, counts_of, every_check, word_of
from axioms.report.page.sections import Section, groups_of, sections_of
from axioms.report.page.verdicts import VERDICTS, scorecards_of

if TYPE_CHECKING:
    from jinja2 import Environment

EMBEDDED = {"id", "spec", "axiom", "method", "than", "rewrite", "verdict", "passed", "metrics", "reported", "place"}
"""What the page's own data has of each check; single values and examples are in results.json."""
MOST_LISTED = 40
"""Rows of a table in the headline; the rest is below, or in a file beside the page."""


def html_page(run: RunRecord, grids: Sequence[Grid], pictures: Sequence[Picture], root: Path) -> str:
    """Return the whole page. `root` is the folder that the specs' names start from: their lines are shown in it."""
    sections = sections_of(run, pictures)
    everything = every_check(run)
    axioms, matrix = matrix_of(everything)
    sources = _sources(sections, root)
    templates = environment()
    return templates.get_template("index.html").render(
        run=run,
        headline=headline_of(run),
        is_bad=bool(run.errors or run.failed or drifted(run) or any(map(is_unshown, run.claims))),
        rest=rest_of(run),
        errors=errors_table(run),
        failures=failures_table(run),
        most=MOST_LISTED,
        scorecards=scorecards_of(run),
        counts=counts_of(everything),
        axioms=axioms,
        matrix=matrix,
        grids=grids,
        shared=[picture for picture in pictures if picture.part is None],
        groups=groups_of(sections),
        methods=sorted({entry.method for section in sections for entry in section.entries}),
        every_axiom=sorted({entry.axiom for section in sections for entry in section.entries}),
        skipped=Counter(check.reason for check in run.skipped).most_common(),
        sources=sources,
        glossary=entries(),
        packed=_packed(run, _pieces(templates, sections, sources)),
    )


def environment() -> Environment:
    """Return the templates of pages, with the filters that they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("axioms.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {"picture": data_address, "explained": Explainer(), "words": word_of}
    templates.globals |= {"kinds": KINDS, "verdicts": VERDICTS}
    return templates


def data_address(picture: Picture) -> str:
    """Return the picture itself as an address: the page is one file. It is text, which packs better than base64."""
    return "data:image/svg+xml," + quote(picture.file.read_text(encoding="utf-8"), safe=" =:/;,()@!~*'+-._?&$")


def _sources(sections: Iterable[Section], root: Path) -> dict[str, tuple[str, list[str]]]:
    """Return the lines of every spec that a check points to, by its name; those that are gone are left out."""
    names = dict.fromkeys(
        name for section in sections for name in (section.spec, *(entry.file for entry in section.entries))
    )
    return {
        name: (anchor_of(name), (root / name).read_text(encoding="utf-8", errors="replace").splitlines())
        for name in names
        if (root / name).is_file()
    }


def _pieces(
    templates: Environment, sections: Sequence[Section], sources: dict[str, tuple[str, list[str]]]
) -> dict[str, str]:
    """Return what is folded away, as HTML by the id of what it is folded into."""
    macros: Any = templates.get_template("macros.html").module
    inside, source = templates.get_template("section.html"), templates.get_template("source.html")
    pieces = {section.anchor: inside.render(section=section, macros=macros, sources=sources) for section in sections}
    lines = {
        f"source-{anchor}": source.render(name=name, anchor=anchor, lines=lines)
        for name, (anchor, lines) in sources.items()
    }
    return pieces | lines


def _packed(run: RunRecord, pieces: dict[str, str]) -> str:
    """Return what is folded away and the run's numbers as JSON, compressed: most readers open little of it."""
    head = run.model_dump_json(exclude={"checks"})
    checks = ",".join(check.model_dump_json(include=EMBEDDED) for check in run.checks)
    text = f'{{"pieces":{json.dumps(pieces)},"run":{head[:-1]},"checks":[{checks}]}}}}'
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def unpack(page: str) -> dict[str, Any]:
    """Return what a page has packed: its pieces of HTML, and the run's numbers."""
    start = page.index('id="packed">') + len('id="packed">')
    text = gzip.decompress(base64.b64decode(page[start : page.index("<", start)]))
    content: dict[str, Any] = json.loads(text)
    return content
