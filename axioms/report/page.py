"""A run as its page shows it: sections, rows and texts, so that the template has nothing to work out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from axioms.report.gallery import Picture
from axioms.report.heatmaps import Token, tokens_of
from axioms.report.tables import Row, comparisons, label, printed, show

Record = dict[str, Any]
KINDS = {
    "failed": ("✗", "failed"),
    "violated": ("≠", "violated, as claimed"),
    "holds": ("✓", "holds"),
    "refused": ("–", "refused, as claimed"),
    "recorded": ("·", "recorded"),
}
"""What a check can have come to, the most telling first: its mark and its words."""
SPOKEN = ("failed", "holds", "violated", "refused", "recorded")
"""The same in the order in which a sentence says it."""
FOREMOST = ("implementation_invariance", "conservation", "loo_correlation", "perturbation", "ground_truth")
"""Axioms that the papers are about, which come first in the matrix."""


@dataclass(frozen=True)
class Line:
    """One metric of a check."""

    metric: str
    value: str
    n: int
    bounds: list[str]
    paper: str


@dataclass(frozen=True)
class Entry:
    """One check."""

    kind: str
    axiom: str
    method: str
    rewrite: str
    lines: list[Line]
    reason: str
    place: str
    """`line 12`, or with its file before it where that is another one."""
    file: str
    anchor: str


@dataclass(frozen=True)
class Section:
    """One spec."""

    spec: str
    anchor: str
    first: Record
    counts: dict[str, int]
    entries: list[Entry]
    compared: tuple[Row, list[Row]]
    pictures: list[Picture]
    texts: list[tuple[str, list[tuple[str, list[Token]]]]]
    """What each text's output is, and by method its tokens with their relevance."""

    @property
    def verdict(self) -> str:
        """In one line."""
        return in_words(self.counts)

    @property
    def subject(self) -> str:
        """What it is about; the model alone, where its rewrites are."""
        name = str(self.first["subject"])
        return name.rpartition(" / ")[0] if self.first.get("rewrite") else name


@dataclass(frozen=True)
class Place:
    """One cell of the matrix: what the checks of one method on one axiom came to."""

    axiom: str
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The most telling one."""
        return next(iter(self.counts), "")

    @property
    def words(self) -> str:
        """For a reader who hears it."""
        return in_words(self.counts) if self.counts else "not checked"


def kind_of(record: Record) -> str:
    """What a check came to."""
    return str(record["verdict"]) if record["passed"] and record["verdict"] in KINDS else "failed"


def counts_of(records: Iterable[Record]) -> dict[str, int]:
    """How many checks came to what, the most telling first."""
    counted = Counter(kind_of(record) for record in records)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def in_words(counts: dict[str, int]) -> str:
    """`41 hold; 3 violated, as claimed`."""
    words = {kind: text for kind, (_, text) in KINDS.items()} | {"holds": "hold", "failed": "fail"}
    return "; ".join(
        f"{counts[kind]:,} {KINDS[kind][1] if counts[kind] == 1 else words[kind]}" for kind in SPOKEN if kind in counts
    )


def verdict_of(document: dict[str, Any]) -> str:
    """The run in one line."""
    records, skipped = document["checks"], len(document["skipped"])
    failed = sum(not record["passed"] for record in records)
    rest = f" {skipped:,} were skipped." if skipped else ""
    unfinished = "" if document["run"]["status"] in ("passed", "failed") else " The run was not finished."
    if failed:
        return f"{failed:,} of {len(records):,} checks fail.{rest}{unfinished}"
    return f"All {len(records):,} checks pass: {in_words(counts_of(records))}.{rest}{unfinished}"


def matrix_of(records: Sequence[Record]) -> tuple[list[str], dict[str, list[Place]]]:
    """The axioms, and for each method its row."""
    single = [record for record in records if record["than"] is None and record["method"] is not None]
    axioms = list(dict.fromkeys(record["axiom"] for record in single))
    axioms.sort(key=lambda axiom: FOREMOST.index(axiom) if axiom in FOREMOST else len(FOREMOST))
    by_place: dict[tuple[str, str], list[Record]] = {}
    for record in single:
        by_place.setdefault((record["method"], record["axiom"]), []).append(record)
    methods = dict.fromkeys(record["method"] for record in single)
    return axioms, {
        method: [Place(axiom, counts_of(by_place.get((method, axiom), ()))) for axiom in axioms] for method in methods
    }


def sections_of(records: Sequence[Record], pictures: Sequence[Picture]) -> list[Section]:
    """Each spec: those that failed come first, then those in the folder itself, then those in folders of it."""
    found = []
    for spec, group in groupby(records, key=lambda record: str(record["spec"])):
        mine = list(group)
        entries = [_entry(record) for record in mine]
        drawn = [picture for picture in pictures if picture.spec == spec]
        made = Section(spec, anchor_of(spec), mine[0], counts_of(mine), entries, comparisons(mine), drawn, _texts(mine))
        found.append(made)
    return sorted(found, key=lambda section: ("failed" not in section.counts, section.spec.count("/"), section.spec))


def _entry(record: Record) -> Entry:
    place = record.get("place") or f"{record['spec']}:{record['line']}"
    file, _, line = place.rpartition(":")
    reason = record["reason"] if not record["passed"] or record["verdict"] == "refused" else ""
    return Entry(
        kind=kind_of(record),
        axiom=record["axiom"],
        method=label(record),
        rewrite=record.get("rewrite") or "",
        lines=_lines(record),
        reason="; ".join(each for each in (reason, record.get("because")) if each),
        place=f"line {line}" if file == record["spec"] else f"{file.rpartition('/')[2]}, line {line}",
        file=file,
        anchor=f"{anchor_of(file)}-L{line}",
    )


def _lines(record: Record) -> list[Line]:
    """A line for each metric, with the bounds that decided."""
    bounds: dict[str, list[str]] = {}
    for each in record["bounds"]:
        bounds.setdefault(each["metric"], []).append(each["bound"])
    measured = {each["metric"]: each for each in record["bounds"]} | record["metrics"]
    lines = []
    for name in dict.fromkeys([*bounds, *record["metrics"]]):
        paper = record["reported"].get(name)
        quantity = measured[name]
        said = "" if paper is None else printed(paper)
        lines.append(Line(name, show(quantity), quantity["n"], bounds.get(name, []), said))
    return lines


def _texts(records: Sequence[Record]) -> list[tuple[str, list[tuple[str, list[Token]]]]]:
    """The texts of which the relevance was kept, each with the methods that attributed it."""
    found: dict[tuple[str, ...], tuple[str, dict[str, list[Token]]]] = {}
    for record in records:
        for one in record.get("examples") or ():
            if "tokens" in one:
                output = one.get("difference", one.get("output", 0.0))
                title = f"output {output:.2f}" if "forms" not in one else f"{one['forms'][0]}, difference {output:.2f}"
                _, by_method = found.setdefault(tuple(one["tokens"]), (title, {}))
                by_method.setdefault(record["method"], tokens_of(one))
    return [(title, list(by_method.items())) for title, by_method in found.values()]


def anchor_of(name: str) -> str:
    """A name as an id of HTML."""
    return re.sub(r"[^\w]+", "-", name).strip("-")
