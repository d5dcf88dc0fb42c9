"""A spec to its checks: one (subject, method, axiom, bounds) each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from axioms.core.registry import AXIOMS, Axiom
from axioms.core.source import Document, Path_, Place
from axioms.model.removals import Removal
from axioms.spec.bounds import Bound
from axioms.spec.metrics import SIDES, Reported, split_metric
from axioms.spec.references import AxiomRef, MethodRef, RewriteRef
from axioms.spec.schema import Claims, Run, Spec, TableRef, Tier, options_in_checks
from axioms.spec.subject import Subject
from axioms.spec.tolerance import Tolerance
from axioms.spec.validate import load_spec

COMPARE = "compare"
MODEL = "model"
"""Of checks that are about no method: their id, and their key under `reported`."""
FORWARD = "forward_equivalence"
NO_CLAIMS = Claims()


@dataclass(frozen=True)
class PlacedBound:
    """A bound on a metric, and the line that states it."""

    metric: str
    bound: Bound
    place: Place


@dataclass(frozen=True)
class Comparison:
    """`better - than` on one metric, example by example."""

    axiom: str
    options: Mapping[str, Any]
    """The axiom's, as the checks of the spec have them."""
    better: MethodRef
    than: MethodRef
    confidence: float
    recorded: bool = False
    """Measured and tested, not judged."""


@dataclass(frozen=True)
class Check:
    """One pytest item."""

    file: Path
    """The spec that pytest collected; `place` may be in one that it extends."""
    place: Place
    id: str
    """What pytest puts in brackets."""
    order: int
    """Position among the checks of its spec, in which reports list them."""
    claim: str
    source: str | None
    note: str | None
    tier: Tier
    subject: Subject
    run: Run
    axiom: AxiomRef | None = None
    """None in a comparison, whose metric names its axiom."""
    method: MethodRef | None = None
    expect: tuple[PlacedBound, ...] = ()
    violation: tuple[PlacedBound, ...] | None = None
    """Bounds of the claimed violation; None where no violation is claimed."""
    record: tuple[str, ...] = ()
    reported: Mapping[str, Reported] = field(default_factory=dict)
    table: TableRef | None = None
    """Which table of the paper it feeds."""
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    """How far its metrics may move from a baseline, by pattern."""
    comparison: Comparison | None = None
    family: tuple[Check, ...] = ()
    """Every comparison of the spec, this one too: Holm's correction is over all of them, whichever are run."""
    rewrite: str | None = None
    """What made the right model of the pair out of the left one."""
    refusal: bool = False
    """Claimed: the method has no rule for an operation, or the rewrite does not apply, and says so."""
    because: str | None = None
    """Why a claim of violation or refusal is made."""
    equivalence: tuple[PlacedBound, ...] = ()
    """How far apart the outputs of a pair may be; beyond that no other check of it means anything."""

    def but(self, **changes: Any) -> Check:
        """The same check with other values in some fields; `dataclasses.replace` is slow where there are thousands."""
        other = object.__new__(Check)
        other.__dict__.update(self.__dict__, **changes)
        return other

    @property
    def optional(self) -> bool:
        """Whether its rewrite was asked for by `all`, so that it may not apply."""
        return self.rewrite is not None and self.subject.pair is not None and self.subject.pair.rewritten[0].optional

    @property
    def function(self) -> str:
        """What pytest puts before the brackets."""
        return self.axiom.name if self.axiom is not None else COMPARE


@dataclass(frozen=True)
class Expanded:
    """A spec with its checks."""

    file: Path
    spec: Spec
    checks: list[Check]


def expand_file(file: Path) -> Expanded:
    """Load a spec file and expand it."""
    spec, document = load_spec(file)
    checks = [*_checks(spec, document), *_compares(spec, document)]
    pair = spec.subject.pair
    if pair is not None and pair.rewritten:
        checks = [*_rewrites_first(spec, document), *checks]
    elif pair is not None:
        # Every pair implies that its two models compute the same function.
        stated = [check for check in checks if check.function == FORWARD]
        forward = stated or [_implied_forward(spec, document)]
        checks = [check.but(equivalence=forward[0].expect) for check in checks]
        checks = checks if stated else [*forward, *checks]
    numbered = _numbered(checks)
    family = tuple(check for check in numbered if check.comparison is not None)
    return Expanded(file, spec, [each.but(family=family) if each.comparison else each for each in numbered])


def _base(spec: Spec, document: Document, path: Path_, name: str) -> Check:
    return Check(
        file=document.file,
        place=document.place(path),
        id=name,
        order=0,
        claim=spec.claim,
        source=spec.source,
        note=spec.note,
        tier=spec.tier,
        subject=spec.subject,
        run=spec.run,
        table=spec.table,
        tolerance=spec.tolerance,
    )


def _rewrites_first(spec: Spec, document: Document) -> Iterator[Check]:
    """Every rewrite implies that it keeps the function; and those that are claimed not to apply must say so."""
    assert spec.subject.pair is not None
    implied = _implied_forward(spec, document)
    for subject in rewritten_subjects(spec.subject):
        name = rewrite_of(subject)
        yield implied.but(id=name, subject=subject, rewrite=name, equivalence=implied.expect)
    for index, name in enumerate(spec.subject.pair.not_applicable):
        place = document.place(("subject", "pair", "not_applicable", index))
        subject = _with_rewrite(spec.subject, RewriteRef.model_validate(name))
        yield implied.but(place=place, id=name, subject=subject, rewrite=name, refusal=True)


def rewritten_subjects(subject: Subject) -> list[Subject]:
    """The subject with each of its rewrites by itself; as it is where both models are given."""
    rewrites = [] if subject.pair is None else subject.pair.rewritten
    return [_with_rewrite(subject, each) for each in rewrites] or [subject]


def rewrite_of(subject: Subject) -> str:
    """The name of its one rewrite."""
    assert subject.pair is not None
    return subject.pair.rewritten[0].name


def _with_rewrite(subject: Subject, rewrite: RewriteRef) -> Subject:
    assert subject.pair is not None
    alone = subject.pair.model_copy(update={"rewrite": rewrite, "rewrites": [], "not_applicable": []})
    return subject.model_copy(update={"pair": alone})


def _implied_forward(spec: Spec, document: Document) -> Check:
    path = ("subject", "pair")
    bounds = AXIOMS.get(FORWARD).expect.items()
    placed = tuple(PlacedBound(name, Bound.model_validate(bound), document.place(path)) for name, bound in bounds)
    return _base(spec, document, path, "pair").but(axiom=AxiomRef.model_validate(FORWARD), expect=placed)


def _checks(spec: Spec, document: Document) -> Iterator[Check]:
    sides = SIDES if spec.subject.pair is not None else ()
    subjects = rewritten_subjects(spec.subject)
    kept = _implied_forward(spec, document).expect
    for index, check in enumerate(spec.checks):
        path: Path_ = ("checks", index)
        axiom = AXIOMS.get(check.axiom.name)

        def placed(
            bounds: Mapping[str, Bound], at: Path_, axiom: Axiom = axiom, sides: tuple[str, ...] = sides
        ) -> tuple[PlacedBound, ...]:
            return tuple(
                PlacedBound(full, bound, document.place((*at, metric)))
                for metric, bound in bounds.items()
                for full in on_sides(axiom, metric, sides)
            )

        defaults = {metric: Bound.model_validate(bound) for metric, bound in axiom.expect.items()}
        judged = not check.record or bool(check.expect or check.violated_by)
        expect = placed(check.expect or defaults, (*path, "expect")) if judged else ()
        record = tuple(full for metric in check.record for full in on_sides(axiom, metric, sides))
        reference = _swept(spec, check.axiom)
        base = _base(spec, document, path, "pair").but(axiom=reference, expect=expect, record=record)
        if axiom.methodless:
            whole = base.id if sides else MODEL
            yield base.but(id=whole, reported=_reported(spec, MODEL, axiom, sides))
            continue
        methods = [each for each in spec.methods if check.methods is None or each.label in check.methods]
        for subject, method in product(subjects, methods):
            made_by = subject.pair is not None and bool(subject.pair.rewritten)
            rewrite = rewrite_of(subject) if made_by else None
            if check.rewrites is not None and rewrite not in check.rewrites:
                continue
            reported = _reported(spec, method.label, axiom, sides)
            one = base.but(id=method.label, method=method, reported=reported, subject=subject)
            if rewrite is not None:
                one = one.but(id=f"{method.label}-{rewrite}", rewrite=rewrite, equivalence=kept)
            own: Path_ = (*path, "on", rewrite) if rewrite is not None else path
            for claims, stated in ((check, path), (check.on.get(rewrite or "", NO_CLAIMS), own)):
                if method.label in claims.violated_by:
                    at = (*stated, "violated_by", method.label)
                    bounds = placed(claims.violated_by[method.label], at)
                    one = one.but(place=document.place(at), violation=bounds, because=claims.because)
                if method.label in claims.refused_by:
                    at = (*stated, "refused_by", claims.refused_by.index(method.label))
                    one = one.but(place=document.place(at), refusal=True, because=claims.because)
            for number, absent in enumerate(spec.not_defined):
                if absent.matches(reference, method.label):
                    place = document.place(("not_defined", number))
                    one = one.but(place=place, refusal=True, violation=None, because=absent.because)
            yield from _removals(one, check.remove)


def _removals(check: Check, removals: list[Removal] | None) -> Iterator[Check]:
    """The check itself, or one for each removal, which its id then names."""
    if removals is None:
        yield check
    for removal in removals or ():
        subject = check.subject.model_copy(update={"remove": removal})
        yield check.but(id=f"{check.id}-{removal.kind}", subject=subject)


def _swept(spec: Spec, reference: AxiomRef) -> AxiomRef:
    """The axiom with the spec's sweep among its options, if it looks at a sweep and states none of its own."""
    if spec.sweep is None or not AXIOMS.get(reference.name).takes("sweep"):
        return reference
    return reference.model_copy(update={"options": {"sweep": list(spec.sweep.layers), **reference.options}})


def _compares(spec: Spec, document: Document) -> Iterator[Check]:
    methods = {method.label: method for method in spec.methods}
    sides = SIDES if spec.subject.pair is not None else ()
    for index, compare in enumerate(spec.compare):
        path: Path_ = ("compare", index)
        axiom_name, _, metric = compare.metric.partition(".")
        names = on_sides(AXIOMS.get(axiom_name), metric, sides)
        place = document.place((*path, "by"))
        options = compare.options if compare.options is not None else options_in_checks(spec, axiom_name)[0]
        better, than = methods[compare.better], methods[compare.than]
        comparison = Comparison(axiom_name, options, better, than, compare.confidence, compare.record)
        base = _base(spec, document, path, f"{compare.better}-over-{compare.than}")
        bounds = tuple(PlacedBound(f"{name.removesuffix('.mean')}.mean", compare.by, place) for name in names)
        one = base.but(method=comparison.better, comparison=comparison, expect=bounds)
        yield from _removals(one, compare.remove)


def on_sides(axiom: Axiom, name: str, sides: tuple[str, ...]) -> list[str]:
    """The full names of a metric: on a pair, one that names no side is meant for both."""
    side, metric, aggregate = split_metric(axiom, name)
    tail = metric if aggregate is None else f"{metric}.{aggregate}"
    if axiom.scope == "pair" or not sides:
        return [tail]
    return [f"{each}.{tail}" for each in ((side,) if side else sides)]


def _reported(spec: Spec, label: str, axiom: Axiom, sides: tuple[str, ...]) -> dict[str, Reported]:
    """The paper's numbers for this method and axiom, by full metric name (the mean where none is named)."""
    numbers: dict[str, Reported] = {}
    for name, value in spec.reported.get(label, {}).items():
        axiom_name, _, metric = name.partition(".")
        if axiom_name != axiom.name:
            continue
        for full in on_sides(axiom, metric, sides):
            _, bare, aggregate = split_metric(axiom, full)
            per_example = axiom.metrics[bare].kind == "per_example"
            numbers[f"{full}.mean" if per_example and aggregate is None else full] = value
    return numbers


def _numbered(checks: list[Check]) -> list[Check]:
    """Give each check its position, and repeated ids a number: pytest needs each to be its own."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for order, check in enumerate(checks):
        key = (check.function, check.id)
        seen[key] += 1
        number = check.id if seen[key] == 1 else f"{check.id}-{seen[key]}"
        numbered.append(check.but(id=number, order=order))
    return numbered
