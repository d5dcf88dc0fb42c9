"""The entries of `checks` as checks: one for each axiom, method, rewrite and removal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from axioms.core.entries import Axiom
from axioms.core.registry import AXIOMS
from axioms.core.source import Document, Path_
from axioms.model.removals import Removal
from axioms.spec.bounds import Bound
from axioms.spec.check import Check, PlacedBound, plain_check
from axioms.spec.metrics import SIDES, Reported, split_metric
from axioms.spec.pairs import implied_forward, rewrite_of, rewritten_subjects
from axioms.spec.references import AxiomRef
from axioms.spec.schema import CheckSpec, Claims, Spec

MODEL = "model"
"""Of checks that are about no method: their id, and their key under `reported`."""


def axiom_checks(spec: Spec, document: Document) -> Iterator[Check]:
    """Yield the checks of every entry of `checks`, in their order."""
    for index, stated in enumerate(spec.checks):
        entry = _Entry(spec, document, ("checks", index), stated, AXIOMS.get(stated.axiom.name))
        yield from entry.about_the_model() if entry.axiom.methodless else entry.about_methods()


@dataclass(frozen=True)
class _Entry:
    """An entry of `checks`."""

    spec: Spec
    document: Document
    path: Path_
    stated: CheckSpec
    axiom: Axiom

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides of the pair; none where there is one model."""
        return SIDES if self.spec.subject.pair is not None else ()

    def about_the_model(self) -> Iterator[Check]:
        """Yield the one check of an axiom that looks at no method."""
        name = "pair" if self.sides else MODEL
        yield self._plain().but(id=name, reported=self._reported(MODEL))

    def about_methods(self) -> Iterator[Check]:
        """Yield a check for each rewrite, method and removal."""
        methods = [method for method in self.spec.methods if self.stated.is_for(method.label)]
        plain = self._plain()
        equivalence = implied_forward(self.spec, self.document).expect
        for subject, method in product(rewritten_subjects(self.spec.subject), methods):
            rewrite = rewrite_of(subject)
            if self.stated.rewrites is not None and rewrite not in self.stated.rewrites:
                continue
            reported = self._reported(method.label)
            check = plain.but(id=method.label, method=method, reported=reported, subject=subject)
            if rewrite is not None:
                check = check.but(id=f"{method.label}-{rewrite}", rewrite=rewrite, equivalence=equivalence)
            yield from with_removals(self._with_claims(check, method.label, rewrite), self.stated.remove)

    def _plain(self) -> Check:
        """Return the check with what is the same for all methods."""
        stated, axiom = self.stated, self.axiom
        defaults = {metric: Bound.model_validate(bound) for metric, bound in axiom.expect.items()}
        judged = not stated.record or bool(stated.expect or stated.violated_by)
        expect = self._placed(stated.expect or defaults, (*self.path, "expect")) if judged else ()
        record = tuple(name for metric in stated.record for name in on_sides(axiom, metric, self.sides))
        plain = plain_check(self.spec, self.document, self.path, "pair")
        return plain.but(axiom=_with_sweep(self.spec, stated.axiom), expect=expect, record=record)

    def _placed(self, bounds: Mapping[str, Bound], path: Path_) -> tuple[PlacedBound, ...]:
        """Return the bounds that stand at `path`, on each side that they are meant for."""
        return tuple(
            PlacedBound(name, bound, self.document.place((*path, metric)))
            for metric, bound in bounds.items()
            for name in on_sides(self.axiom, metric, self.sides)
        )

    def _with_claims(self, check: Check, method: str, rewrite: str | None) -> Check:
        """Return the check with what is claimed of its method: for all rewrites, for its own, for its subject."""
        claims: list[tuple[Claims, Path_]] = [(self.stated, self.path)]
        if rewrite in self.stated.on:
            claims.append((self.stated.on[rewrite], (*self.path, "on", rewrite)))
        for claim, path in claims:
            if method in claim.violated_by:
                at = (*path, "violated_by", method)
                bounds = self._placed(claim.violated_by[method], at)
                check = check.but(place=self.document.place(at), violation=bounds, because=claim.because)
            if method in claim.refused_by:
                place = self.document.place((*path, "refused_by", claim.refused_by.index(method)))
                check = check.but(place=place, refusal=True, because=claim.because)
        assert check.axiom is not None
        for index, absent in enumerate(self.spec.not_defined):
            if absent.matches(check.axiom, method):
                place = self.document.place(("not_defined", index))
                check = check.but(place=place, refusal=True, violation=None, because=absent.because)
        return check

    def _reported(self, label: str) -> dict[str, Reported]:
        """Return the paper's numbers for a method, by full metric name (the mean where no aggregate is named)."""
        numbers: dict[str, Reported] = {}
        for qualified, value in self.spec.reported.get(label, {}).items():
            axiom_name, _, metric = qualified.partition(".")
            if axiom_name != self.axiom.name:
                continue
            for name in on_sides(self.axiom, metric, self.sides):
                _, bare, aggregate = split_metric(self.axiom, name)
                per_example = self.axiom.metrics[bare].kind == "per_example"
                numbers[f"{name}.mean" if per_example and aggregate is None else name] = value
        return numbers


def with_removals(check: Check, removals: list[Removal] | None) -> Iterator[Check]:
    """Yield the check itself, or one for each removal, which its id then names."""
    if removals is None:
        yield check
    for removal in removals or ():
        subject = check.subject.model_copy(update={"remove": removal})
        yield check.but(id=f"{check.id}-{removal.kind}", subject=subject)


def on_sides(axiom: Axiom, metric: str, sides: tuple[str, ...]) -> list[str]:
    """Return the full names of a metric: on a pair, one that names no side is meant for both."""
    side, name, aggregate = split_metric(axiom, metric)
    tail = name if aggregate is None else f"{name}.{aggregate}"
    if axiom.scope == "pair" or not sides:
        return [tail]
    return [f"{prefix}.{tail}" for prefix in ((side,) if side else sides)]


def _with_sweep(spec: Spec, axiom: AxiomRef) -> AxiomRef:
    """Return the axiom with the spec's sweep among its options, if it looks at one and states none itself."""
    if spec.sweep is None or not AXIOMS.get(axiom.name).takes("sweep"):
        return axiom
    return axiom.model_copy(update={"options": {"sweep": list(spec.sweep.layers), **axiom.options}})
