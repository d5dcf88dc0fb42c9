"""A run as its page shows it: sections, rows and texts, so that the template has nothing to work out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from axioms.record import CheckRecord, ImageExample, Quantity, RunRecord, SentenceExample
from axioms.report.drawing import Picture
from axioms.report.heatmaps import Token, tokens_of
from axioms.report.tables import comparisons, label, single_checks
from axioms.report.text import Table, printed, show

KINDS = {
    "failed": ("✗", "failed"),
    "violated": ("≠", "violated, as claimed"),
    "holds": ("✓", "holds"),
    "refused": ("–", "refused, as claimed"),
    "recorded": ("·", "recorded"),
}
"""The outcomes of a check, the most telling first, each with its mark and its words."""
SPOKEN = ("failed", "holds", "violated", "refused", "recorded")
"""The same outcomes in the order in which a sentence lists them."""
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
class Text:
    """A text of which the relevance was kept."""

    title: str
    """What the model's output is."""
    is_sentence: bool
    """Whether it is one of the agreement benchmark."""
    by_method: dict[str, list[Token]] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """One spec, or one of its subjects where it has several."""

    name: str
    spec: str
    anchor: str
    first: CheckRecord
    counts: dict[str, int]
    entries: list[Entry]
    compared: Table
    pictures: list[Picture]
    texts: list[Text]

    @property
    def verdict(self) -> str:
        """In one line."""
        return in_words(self.counts)

    @property
    def marks_subjects(self) -> bool:
        """Whether its texts are sentences whose grammatical subject is marked."""
        return any(text.is_sentence for text in self.texts)


@dataclass(frozen=True)
class Place:
    """One cell of the matrix: the outcomes of the checks of one method on one axiom."""

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


def kind_of(check: CheckRecord) -> str:
    """Return the outcome of a check."""
    return check.verdict if check.passed and check.verdict in KINDS else "failed"


def counts_of(checks: Iterable[CheckRecord]) -> dict[str, int]:
    """Count the checks by their outcome, the most telling first."""
    counted = Counter(kind_of(check) for check in checks)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def in_words(counts: dict[str, int]) -> str:
    """`41 hold; 3 violated, as claimed`."""
    words = {kind: text for kind, (_, text) in KINDS.items()} | {"holds": "hold", "failed": "fail"}
    return "; ".join(
        f"{counts[kind]:,} {KINDS[kind][1] if counts[kind] == 1 else words[kind]}" for kind in SPOKEN if kind in counts
    )


def verdict_of(run: RunRecord) -> str:
    """The run in one line."""
    rest = f" {len(run.skipped):,} were skipped." if run.skipped else ""
    unfinished = "" if run.run.status in ("passed", "failed") else " The run was not finished."
    if run.failed:
        return f"{len(run.failed):,} of {len(run.checks):,} checks fail.{rest}{unfinished}"
    return f"All {len(run.checks):,} checks pass: {in_words(counts_of(run.checks))}.{rest}{unfinished}"


def matrix_of(checks: Sequence[CheckRecord]) -> tuple[list[str], dict[str, list[Place]]]:
    """The axioms, and for each method its row."""
    by_place: dict[tuple[str, str], list[CheckRecord]] = {}
    for check in single_checks(checks):
        by_place.setdefault((str(check.method), check.axiom), []).append(check)
    axioms = list(dict.fromkeys(axiom for _, axiom in by_place))
    axioms.sort(key=lambda axiom: FOREMOST.index(axiom) if axiom in FOREMOST else len(FOREMOST))
    return axioms, {
        method: [Place(axiom, counts_of(by_place.get((method, axiom), ()))) for axiom in axioms]
        for method in dict.fromkeys(method for method, _ in by_place)
    }


def sections_of(run: RunRecord, pictures: Sequence[Picture]) -> list[Section]:
    """Each spec: those that failed come first, then those in the folder itself, then those in folders of it."""
    sections = [
        Section(
            name=part,
            spec=checks[0].spec,
            anchor=anchor_of(part),
            first=checks[0],
            counts=counts_of(checks),
            entries=[_entry(check) for check in checks],
            compared=comparisons(checks),
            pictures=[picture for picture in pictures if picture.part == part],
            texts=_texts(checks),
        )
        for part, checks in run.by_part.items()
    ]
    return sorted(sections, key=lambda section: ("failed" not in section.counts, section.spec.count("/"), section.name))


def _entry(check: CheckRecord) -> Entry:
    file, line = check.place.file, check.place.line
    reason = check.reason if not check.passed or check.verdict == "refused" else ""
    return Entry(
        kind=kind_of(check),
        axiom=check.axiom,
        method=label(check),
        rewrite=check.rewrite or "",
        lines=_lines(check),
        reason="; ".join(text for text in (reason, check.because) if text),
        place=f"line {line}" if file == check.spec else f"{file.rpartition('/')[2]}, line {line}",
        file=file,
        anchor=f"{anchor_of(file)}-L{line}",
    )


def _lines(check: CheckRecord) -> list[Line]:
    """A line for each metric, with the bounds that decided."""
    bounds: dict[str, list[str]] = {}
    measured: dict[str, Quantity] = {}
    for decision in check.bounds:
        bounds.setdefault(decision.metric, []).append(decision.bound)
        measured[decision.metric] = decision
    lines = []
    for name, quantity in {**measured, **check.metrics}.items():
        paper = check.reported.get(name)
        said = "" if paper is None else printed(paper)
        lines.append(Line(name, show(quantity), quantity.n, bounds.get(name, []), said))
    return lines


def _texts(checks: Sequence[CheckRecord]) -> list[Text]:
    """The texts of which the relevance was kept, each with the methods that attributed it."""
    texts: dict[tuple[str, ...], Text] = {}
    for check in checks:
        for example in check.examples:
            if isinstance(example, ImageExample):
                continue
            is_sentence = isinstance(example, SentenceExample)
            title = (
                f"{example.forms[0]}, difference {example.difference:.2f}"
                if isinstance(example, SentenceExample)
                else f"output {example.output:.2f}"
            )
            text = texts.setdefault(tuple(example.tokens), Text(title, is_sentence))
            text.by_method.setdefault(str(check.method), tokens_of(example))
    return list(texts.values())


def anchor_of(name: str) -> str:
    """A name as an id of HTML."""
    return re.sub(r"[^\w]+", "-", name).strip("-")
