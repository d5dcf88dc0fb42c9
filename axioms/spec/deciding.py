"""Which checks decide the claims of a spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from axioms.core.errors import Problem, SpecError, did_you_mean
from axioms.core.source import Document, Path_
from axioms.spec.check import COMPARE, Check
from axioms.spec.claim import ALL, ClaimSpec
from axioms.spec.pairs import FORWARD
from axioms.spec.subject import Subject
from axioms.spec.validate import LoadedSpec

CONTROL_METHODS = ("random",)
"""Methods that know no model: what they give shows that a measurement works, never that a claim does."""
OF_ITSELF = {"loo_correlation": "loo"}
"""By axiom the method that it compares others with: agreeing with itself shows nothing either."""


@dataclass(frozen=True)
class Claim:
    """A claim on one subject, with the checks that decide it."""

    file: Path
    label: str | None
    """Of the subject, where the spec has several."""
    subject: str
    """What a scorecard calls it."""
    number: int
    """1 for the spec's own, from 2 on for those under `claims`."""
    stated: ClaimSpec
    source: str | None
    checks: tuple[Check, ...]
    """None where an old spec judges nothing."""

    @property
    def is_open(self) -> bool:
        """Whether it is a question; so is a claim that nothing decides."""
        return self.stated.status == "open" or not self.checks


def claims_of(loaded: Sequence[LoadedSpec], checks: Sequence[Check]) -> list[Claim]:
    """Return the claims of a spec file on each of its subjects; a claim that nothing can decide is a `SpecError`."""
    claims: list[Claim] = []
    problems: list[Problem] = []
    for label, spec, document in (
        (one_subject.label, one_subject.spec, one_subject.document) for one_subject in loaded
    ):
        paths: list[Path_] = [(), *(("claims", index) for index in range(len(spec.claims)))]
        stated = list(zip([spec, *spec.claims], paths, strict=True))
        decider = Decider(document, stated, [check for check in checks if check.label == label])
        for number, (claim, path) in enumerate(stated, start=1):
            deciding, wrong = decider.deciding(claim, path)
            problems += wrong
            subject = spec.subject.name or label or subject_name(spec.subject)
            claims.append(Claim(document.file, label, subject, number, claim, spec.source, tuple(deciding)))
    if problems:
        raise SpecError(list(dict.fromkeys(problems)))
    return claims


def deciding_checks(checks: Sequence[Check], claims: Sequence[Claim]) -> list[Check]:
    """Return the checks, each with the claims that it decides; where all of those are open it passes either way."""
    decided: dict[int, list[Claim]] = {}
    for claim in claims:
        for check in claim.checks:
            decided.setdefault(check.order, []).append(claim)
    return [_with_claims(check, decided[check.order]) if check.order in decided else check for check in checks]


def _with_claims(check: Check, claims: Sequence[Claim]) -> Check:
    sentences = tuple(claim.stated.claim for claim in claims)
    return check.but(decides=sentences, is_open=all(claim.is_open for claim in claims))


def subject_name(subject: Subject) -> str:
    """Return the model's name, or both names of a pair; of a rewritten pair that of the model that was rewritten."""
    pair = subject.pair
    if pair is not None:
        return " / ".join(model.name for model in (pair.left, pair.right, pair.model) if model is not None)
    return "" if subject.model is None else subject.model.name


def names_of(check: Check) -> Iterator[str]:
    """Yield every way in which `decided_by` may name a check."""
    function, name = check.function, check.id.removeprefix(f"{check.label}-") if check.label else check.id
    yield from (function, f"{function}[{name}]")
    compared = check.comparison
    if compared is not None:
        pair = f"{compared.better.label} over {compared.than.label}"
        yield pair
        metrics = [placed.metric.removesuffix(".mean").rpartition(".")[2] for placed in check.expect]
        yield from (f"{pair} in {compared.axiom}.{metric}" for metric in dict.fromkeys(metrics))
        return
    heads = [function, *([f"{function} of {check.method.label}"] if check.method is not None else [])]
    yield from heads[1:]
    if check.rewrite is not None:
        yield from (f"{head} on {check.rewrite}" for head in heads)


def is_control(check: Check) -> bool:
    """Tell whether a check shows that a measurement works, and nothing about a claim."""
    axiom = check.function if check.comparison is None else check.comparison.axiom
    methods = [check.method, None if check.comparison is None else check.comparison.than]
    names = [method.name for method in methods if method is not None]
    return any(name in CONTROL_METHODS or OF_ITSELF.get(axiom) == name for name in names)


def is_judged(check: Check) -> bool:
    """Tell whether a check has a bound that decides whether it passes."""
    if check.comparison is not None:
        return not check.comparison.recorded
    return check.refusal or check.violation is not None or bool(check.expect)


@dataclass(frozen=True)
class Decider:
    """Finds the checks that decide each claim of a spec on one subject."""

    document: Document
    claims: Sequence[tuple[ClaimSpec, Path_]]
    """With the place of each."""
    checks: Sequence[Check]

    def deciding(self, claim: ClaimSpec, path: Path_) -> tuple[list[Check], list[Problem]]:
        """Return the checks that decide a claim, and what is wrong with how it names them."""
        if claim.decided_by == ALL:
            checks = self._unnamed()
            stated = claim.model_fields_set & {"decided_by", "status", "paper"}
            what = "nothing here decides it: no check has a bound, or all are controls; give one an `expect`."
            return checks, [] if checks or not stated else [self.document.problem((*path, "claim"), what)]
        checks, problems = [], []
        for index, name in enumerate(claim.decided_by):
            named, problem = self._named(claim, name)
            checks += [check for check in named if all(check is not other for other in checks)]
            if problem is not None and not self._is_inherited((*path, "decided_by", index)):
                problems.append(self.document.problem((*path, "decided_by", index), problem))
        return (checks or self._unnamed()) if not problems else [], problems

    def _is_inherited(self, path: Path_) -> bool:
        """Tell whether a name comes from a base: a spec that extends one may have replaced the checks it names."""
        return self.document.place(path).file != self.document.file

    def _unnamed(self) -> list[Check]:
        """Return the judged checks that no claim names; where there are none but that a pair is one, those."""
        named = {name for claim, _ in self.claims if claim.decided_by != ALL for name in claim.decided_by}
        judged = [check for check in self.checks if is_judged(check) and not is_control(check)]
        rest = [check for check in judged if not named or named.isdisjoint(names_of(check))]
        return [check for check in rest if check.function != FORWARD] or rest

    def _named(self, claim: ClaimSpec, name: str) -> tuple[list[Check], str | None]:
        """Return the checks of that name that can decide the claim; else what is wrong with it."""
        named = [check for check in self.checks if name in names_of(check)]
        if not named:
            names = dict.fromkeys(other for check in self.checks for other in names_of(check) if other != COMPARE)
            return [], f"no check of this spec is called {name!r}.{did_you_mean(name, names)}"
        real = [check for check in named if not is_control(check)]
        if not real:
            return [], f"{name!r} is a control, which decides no claim."
        able = [check for check in real if is_judged(check) or (claim.status == "open" and check.expect)]
        if not able:
            return [], f"{name!r} is recorded, not judged; give it an `expect`, or make the claim `status: open`."
        return able, None
