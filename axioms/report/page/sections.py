"""The specs of a run as its page shows them: groups, sections and rows, so that the template works nothing out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axioms.record import CheckRecord, ClaimVerdict, ErrorCheck, Quantity, RunRecord
from axioms.report.drawing import Picture
from axioms.report.page.examples import Text, texts_of
from axioms.report.page.outcomes import FAILING, KINDS, AnyCheck, anchor_of, counts_of, every_check, in_words, kind_of
from axioms.report.page.verdicts import VERDICTS, ClaimCell, claim_cell
from axioms.report.tables import comparisons, label
from axioms.report.text import Table, printed, show

FAMILY = 5
"""A spec with so many subjects is a group of its own: the families of specs/always.yaml."""


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
    base: str
    """The method's registered name."""
    rewrite: str
    lines: list[Line]
    reason: str
    place: str
    """`line 12`, or with its file before it where that is another one."""
    file: str
    anchor: str


@dataclass(frozen=True)
class Section:
    """One spec, or one of its subjects where it has several."""

    name: str
    spec: str
    anchor: str
    claim: str
    about: str
    """Where the claim is from, on what it was tested, and how."""
    note: str
    claims: list[ClaimCell]
    """What the spec claims, with its verdicts."""
    counts: dict[str, int]
    entries: list[Entry]
    compared: Table
    pictures: list[Picture]
    texts: list[Text]

    @property
    def verdict(self) -> str:
        """The outcomes of its checks on one line."""
        return in_words(self.counts)

    @property
    def is_failing(self) -> bool:
        """Whether a check failed or raised."""
        return any(kind in self.counts for kind in FAILING)

    @property
    def marks_subjects(self) -> bool:
        """Whether its texts are sentences whose grammatical subject is marked."""
        return any(text.is_sentence for text in self.texts)


@dataclass(frozen=True)
class Group:
    """Specs of one folder, or the subjects of one spec that has many."""

    name: str
    anchor: str
    sections: list[Section]

    @property
    def counts(self) -> dict[str, int]:
        """Checks by outcome, over all of its sections."""
        counts = {kind: sum(section.counts.get(kind, 0) for section in self.sections) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count}

    @property
    def verdicts(self) -> dict[ClaimVerdict, int]:
        """Claims by verdict, over all of its sections."""
        verdicts = [cell.verdict for section in self.sections for cell in section.claims]
        return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}

    @property
    def is_failing(self) -> bool:
        """Whether a check of it failed or raised."""
        return any(section.is_failing for section in self.sections)


def groups_of(sections: Sequence[Section]) -> list[Group]:
    """Group the sections by folder, and the subjects of a spec that has many by themselves; failing groups first."""
    counts: dict[str, int] = {}
    for section in sections:
        counts[section.spec] = counts.get(section.spec, 0) + 1
    by_name: dict[str, list[Section]] = {}
    for section in sections:
        is_family = counts[section.spec] >= FAMILY
        by_name.setdefault(section.spec if is_family else section.spec.rpartition("/")[0] or ".", []).append(section)
    groups = [Group(name, f"group-{anchor_of(name)}", members) for name, members in by_name.items()]
    return sorted(groups, key=lambda group: (not group.is_failing, group.name.count("/"), group.name))


def sections_of(run: RunRecord, pictures: Sequence[Picture]) -> list[Section]:
    """Return each spec of the run; those that failed come first, then those in the folder itself, then its folders'."""
    by_part: dict[str, list[AnyCheck]] = {}
    for check in every_check(run):
        by_part.setdefault(check.part, []).append(check)
    sections = [_section(part, checks, run, pictures) for part, checks in by_part.items()]
    return sorted(sections, key=lambda section: (not section.is_failing, section.spec.count("/"), section.name))


def _section(part: str, checks: Sequence[AnyCheck], run: RunRecord, pictures: Sequence[Picture]) -> Section:
    measured = [check for check in checks if isinstance(check, CheckRecord)]
    return Section(
        name=part,
        spec=checks[0].spec,
        anchor=anchor_of(part),
        claim=checks[0].claim,
        about=_about(checks[0], measured),
        note=(measured[0].note or "") if measured else "",
        claims=[claim_cell(claim, [part]) for claim in run.claims if claim.part == part],
        counts=counts_of(checks),
        entries=[_entry(check) for check in checks],
        compared=comparisons(measured),
        pictures=[picture for picture in pictures if picture.part == part],
        texts=texts_of(measured),
    )


def _about(first: AnyCheck, measured: Sequence[CheckRecord]) -> str:
    source = f"{measured[0].source}. " if measured and measured[0].source else ""
    setting = f", {measured[0].run.dtype}, seed {measured[0].run.seed}" if measured else ""
    tier = f", {first.tier} tier" if first.tier != "smoke" else ""
    return f"{source}Subject: {first.subject}{setting}{tier}."


def _entry(check: AnyCheck) -> Entry:
    file, line = check.place.file, check.place.line
    return Entry(
        kind=kind_of(check),
        axiom=check.axiom,
        method=_label(check),
        base=check.method_name or check.method or "",
        rewrite=check.rewrite or "",
        lines=_lines(check) if isinstance(check, CheckRecord) else [],
        reason=_reason(check),
        place=f"line {line}" if file == check.spec else f"{file.rpartition('/')[2]}, line {line}",
        file=file,
        anchor=f"{anchor_of(file)}-L{line}",
    )


def _label(check: AnyCheck) -> str:
    if isinstance(check, CheckRecord):
        return label(check)
    return f"{check.method or 'the model'} over {check.than}" if check.than else check.method or "the model"


def _reason(check: AnyCheck) -> str:
    if isinstance(check, ErrorCheck):
        return f"{check.error} ({check.where})" if check.where else check.error
    reason = check.reason if not check.passed or check.verdict == "refused" else ""
    return "; ".join(text for text in (reason, check.because, *check.notes) if text)


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
