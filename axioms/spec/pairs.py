"""What every pair implies: that its two models compute the same function."""

from __future__ import annotations

from collections.abc import Iterator

from axioms.core.registry import AXIOMS
from axioms.core.source import Document
from axioms.spec.bounds import Bound
from axioms.spec.check import Check, PlacedBound, plain_check
from axioms.spec.references import AxiomRef, RewriteRef
from axioms.spec.schema import Spec
from axioms.spec.subject import Subject

FORWARD = "forward_equivalence"


def with_equivalence(spec: Spec, document: Document, checks: list[Check]) -> list[Check]:
    """Return the checks of a spec with those that its pair implies before them."""
    pair = spec.subject.pair
    if pair is None:
        return checks
    if pair.rewritten:
        return [*_rewrite_checks(spec, document), *checks]
    stated = [check for check in checks if check.function == FORWARD]
    forward = stated or [implied_forward(spec, document)]
    checks = [check.but(equivalence=forward[0].expect) for check in checks]
    return checks if stated else [*forward, *checks]


def implied_forward(spec: Spec, document: Document) -> Check:
    """Return the check that both models of a pair give the same outputs, with the axiom's own bound."""
    path = ("subject", "pair")
    bounds = AXIOMS.get(FORWARD).expect.items()
    placed = tuple(PlacedBound(name, Bound.model_validate(bound), document.place(path)) for name, bound in bounds)
    return plain_check(spec, document, path, "pair").but(axiom=AxiomRef.model_validate(FORWARD), expect=placed)


def _rewrite_checks(spec: Spec, document: Document) -> Iterator[Check]:
    """Yield a check that each rewrite keeps the function, and that those that are claimed not to apply say so."""
    assert spec.subject.pair is not None
    implied = implied_forward(spec, document)
    for subject in rewritten_subjects(spec.subject):
        name = rewrite_of(subject) or ""
        yield implied.but(id=name, subject=subject, rewrite=name, equivalence=implied.expect)
    for index, name in enumerate(spec.subject.pair.not_applicable):
        place = document.place(("subject", "pair", "not_applicable", index))
        subject = _with_rewrite(spec.subject, RewriteRef.model_validate(name))
        yield implied.but(place=place, id=name, subject=subject, rewrite=name, refusal=True)


def rewritten_subjects(subject: Subject) -> list[Subject]:
    """Return the subject with each of its rewrites by itself; as it is where both models are given."""
    rewrites = [] if subject.pair is None else subject.pair.rewritten
    return [_with_rewrite(subject, rewrite) for rewrite in rewrites] or [subject]


def rewrite_of(subject: Subject) -> str | None:
    """Return the name of the one rewrite that makes the pair; None where nothing is rewritten."""
    rewrites = [] if subject.pair is None else subject.pair.rewritten
    return rewrites[0].name if rewrites else None


def _with_rewrite(subject: Subject, rewrite: RewriteRef) -> Subject:
    assert subject.pair is not None
    alone = subject.pair.model_copy(update={"rewrite": rewrite, "rewrites": [], "not_applicable": []})
    return subject.model_copy(update={"pair": alone})
