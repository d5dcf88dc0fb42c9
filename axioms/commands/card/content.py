"""What a card says: verdicts, comparisons, cost, precision and accounts, out of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from axioms.commands.card.compare import Table
from axioms.commands.card.measure import EXAMPLES, Absence, Measured
from axioms.commands.card.tables import (
    Plane,
    Precision,
    Shares,
    ledgers,
    plane_of,
    precisions,
    subject_tables,
    truth_table,
)
from axioms.commands.falsify import lines_of
from axioms.core.registry import METHODS
from axioms.record import CheckRecord
from axioms.report.page.glossary import AXIOMS
from axioms.report.rewrites import Cell, cells_of
from axioms.report.text import brief
from axioms.run.records import method_records
from axioms.spec import MethodRef

WORST = ("violated", "inconclusive", "holds")
"""The verdict of an axiom is the first of these that any of its checks has."""
MODELS = {
    "invariance_matrix": "BERT",
    "invariance_matrix_gpt2": "GPT-2",
    "invariance_matrix_llama": "Llama",
    "invariance_matrix_relu_net": "ReLU network",
    "invariance_matrix_linear_attention": "linear attention",
}

SUBJECTS = {
    "scalar_product": "(x1 x2) x3 against x1 (x2 x3)",
    "linear_attention": "(QK')V against Q(K'V), MNIST",
    "remedies_agreement": "tiny Llama, agreement",
    "engines": "tiny BERT",
}
"""What readers call the subjects of these specs."""


@dataclass(frozen=True)
class Verdict:
    """An axiom, and how often it holds."""

    axiom: str
    meaning: str
    verdict: str
    holding: int
    total: int
    places: tuple[str, ...]
    """Where it does not hold, with the size of the violation."""


@dataclass(frozen=True)
class Card:
    """Everything that a card says."""

    method: str
    about: str
    """The first line of the method's docstring."""
    given: str
    """The method as the command line names it."""
    options: Mapping[str, object]
    rules: Mapping[str, str]
    """By kind of operation, of a method that is made of rules."""
    against: tuple[str, ...]
    verdicts: list[Verdict]
    counterexample: str
    """In a few lines; empty where there is none."""
    search: str
    """What became of the search for one, in a sentence."""
    rewrites: list[Cell]
    """On the rewrites of five models."""
    subjects: list[Table]
    truth: Table
    plane: Plane | None
    precision: list[Precision]
    ledger: list[Shares]
    undefined: dict[str, list[str]] = field(default_factory=dict)
    """Where the method is not defined, by the reason."""
    gaps: list[str] = field(default_factory=list)
    """What failed, what was missing and what there was no time for, in sentences."""

    @property
    def keeps(self) -> list[str]:
        """The axioms that hold."""
        return [verdict.axiom for verdict in self.verdicts if verdict.verdict == "holds"]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The numbers that stand at the head: LOO r on each real subject, ground truth and cost."""
        tables = [(f"LOO r, {table.title}", table, "LOO r") for table in self.subjects if not table.is_random]
        tables.append(("MRR, ground truth", self.truth, "MRR"))
        facts = []
        for name, table, title in tables:
            estimate = table.own_estimate(title)
            facts += [] if estimate is None else [(name, f"{estimate.mean:.2f}")]
        points = () if self.plane is None else self.plane.points
        return facts + [("passes", f"{point.passes:.1f}") for point in points if point.method == self.method]

    @property
    def headline(self) -> str:
        """The verdict on all axioms in a sentence."""
        if not self.verdicts:
            return f"{self.method}: no axiom was measured"
        broken = [words(verdict.axiom) for verdict in self.verdicts if verdict.verdict == "violated"]
        text = f"{self.method} keeps {len(self.keeps)} of {len(self.verdicts)} axioms"
        listed = " and ".join([*([", ".join(broken[:-1])] if broken[1:] else []), *broken[-1:]])
        return f"{text}; it breaks {listed}" if broken else text


def words(axiom: str) -> str:
    """Return the name of an axiom as words."""
    return axiom.replace("_", " ")


def card_of(measured: Measured, method: MethodRef, given: str, again: str) -> Card:
    """Return the card; `again` is the command that goes on with what there was no time for."""
    entry = METHODS.get(method.name)
    rules = (method_records([method.name]).get(method.name) or method_records(["random"])["random"]).rules or {}
    return Card(
        method=method.label,
        about=entry.summary,
        given=given,
        options=method.options,
        rules={kind: "by module" if rule is None else rule.name for kind, rule in rules.items()},
        against=measured.against,
        verdicts=verdicts_of(measured),
        counterexample="" if measured.counterexample is None else lines_of(measured.counterexample),
        search=_search(measured),
        rewrites=[*cells_of([check for check in measured.judged if check.rewrite is not None]), *_refused(measured)],
        subjects=subject_tables(measured),
        truth=truth_table(measured),
        plane=plane_of(measured),
        precision=precisions(measured),
        ledger=ledgers(measured),
        undefined=_undefined(measured),
        gaps=_gaps(measured, again),
    )


def verdicts_of(measured: Measured) -> list[Verdict]:
    """Return the verdict on each axiom: that of its worst check."""
    by_axiom: dict[str, list[CheckRecord]] = {}
    for check in measured.judged:
        if check.verdict in WORST:
            by_axiom.setdefault(check.axiom, []).append(check)
    verdicts = []
    for axiom, checks in by_axiom.items():
        worst = next(word for word in WORST if any(check.verdict == word for check in checks))
        broken = dict.fromkeys(_where(check) for check in checks if check.verdict != "holds")
        holding = sum(check.verdict == "holds" for check in checks)
        verdicts.append(Verdict(axiom, AXIOMS.get(axiom, ""), worst, holding, len(checks), tuple(broken)))
    return sorted(verdicts, key=lambda verdict: WORST.index(verdict.verdict))


def _where(check: CheckRecord) -> str:
    """Return what a violation was shown on, with its size where there is one."""
    place = check.rewrite or check.label or check.subject
    named = f"{place} ({model_of(check.spec)})" if check.rewrite else SUBJECTS.get(stem_of(check.spec), place)
    sizes = [bound for bound in check.bounds if bound.verdict != "holds" and bound.number is not None]
    return f"{named}: {metric_name(sizes[0].metric)} {brief(sizes[0].number or 0.0)}" if sizes else named


def metric_name(metric: str) -> str:
    """Return `gap` for `left.relative_gap.max`: what was measured, without side and aggregate."""
    names = {"relative_gap": "gap", "relative_error": "error", "pearson": "r"}
    parts = [part for part in metric.split(".") if part not in ("left", "right", "max", "min", "mean", "median")]
    return names.get(parts[0], parts[0].replace("_", " ")) if parts else metric


def model_of(spec: str) -> str:
    """Return the model of a spec of the matrix of rewrites."""
    return MODELS.get(stem_of(spec), stem_of(spec))


def stem_of(spec: str) -> str:
    """Return the name of a spec without its folder and ending."""
    return spec.rpartition("/")[2].removesuffix(".yaml")


def _refused(measured: Measured) -> list[Cell]:
    """Return the rewrites of the matrix for which the method has no rule."""
    return [
        Cell(f"specs/{absence.spec}.yaml", absence.method, absence.on, "refused", None)
        for absence in measured.undefined
        if absence.spec in MODELS and absence.method == measured.method
    ]


def _search(measured: Measured) -> str:
    if measured.counterexample is not None:
        return ""
    return f"None in {EXAMPLES} random expressions." if measured.is_searched else measured.search_refusal


def _undefined(measured: Measured) -> dict[str, list[str]]:
    """Return where the method is not defined, by the reason: places with the same reason stand together."""
    reasons: dict[str, list[str]] = {}
    for absence in measured.undefined:
        if absence.method == measured.method:
            places = reasons.setdefault(_first_sentence(absence.why), [])
            place = absence.on if absence.on in (absence.spec, "") else f"{words(absence.axiom)} on {absence.on}"
            if place not in places:
                places.append(place)
    return reasons


def _first_sentence(text: str) -> str:
    """Return a reason up to its advice, which is for whoever reads the error."""
    for end in (". ", ": give ", "; give "):
        text = text.partition(end)[0]
    return text.rstrip(".")


def _gaps(measured: Measured, again: str) -> list[str]:
    gaps = [_failure(absence, count) for absence, count in _grouped(measured.failed).items()]
    gaps += [f"{spec} was not run: {why}" for spec, why in measured.missing.items()]
    waiting: dict[str, dict[str, None]] = {}
    for check in measured.left_out:
        assert check.method is not None
        waiting.setdefault(f"{check.file.stem} ({words(check.function)})", {})[check.method.label] = None
    if waiting:
        parts = [f"{part}: {', '.join(methods)}" for part, methods in waiting.items()]
        why = "interrupted before it" if measured.is_interrupted else "there was no time for it"
        gaps.append(f"Not run, {why}: {'; '.join(parts)}. To go on from here: {again}")
    return gaps


def _grouped(failed: list[Absence]) -> dict[Absence, int]:
    """Return the first of the failures with the same reason and method, and how many there are."""
    counts: dict[tuple[str, str], int] = {}
    firsts: dict[tuple[str, str], Absence] = {}
    for absence in failed:
        key = (absence.method, absence.why)
        firsts.setdefault(key, absence)
        counts[key] = counts.get(key, 0) + 1
    return {absence: counts[key] for key, absence in firsts.items()}


def _failure(absence: Absence, count: int) -> str:
    others = f" and {count - 1} more" if count > 1 else ""
    return f"{absence.method} failed on {absence.spec} ({words(absence.axiom)}{others}): {absence.why}"
