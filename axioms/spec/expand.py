"""A spec to its checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from axioms.core.registry import AXIOMS
from axioms.core.source import Document, Path_
from axioms.spec.check import Check, Comparison, PlacedBound, plain_check
from axioms.spec.deciding import Claim, claims_of, deciding_checks
from axioms.spec.metrics import SIDES
from axioms.spec.pairs import with_equivalence
from axioms.spec.schema import Spec, options_in_checks
from axioms.spec.stated import axiom_checks, on_sides, with_removals
from axioms.spec.validate import LoadedSpec, load_specs


@dataclass(frozen=True)
class Expanded:
    """A spec file with its checks."""

    file: Path
    specs: list[Spec]
    """One for each of the file's `subjects`; one where it has a single `subject`."""
    checks: list[Check]
    claims: list[Claim]


def expand_file(file: Path) -> Expanded:
    """Load a spec file and expand it."""
    loaded = load_specs(file)
    checks = _numbered(check for one_subject in loaded for check in _checks_of(one_subject))
    claims = claims_of(loaded, checks)
    checks = _with_families(deciding_checks(checks, claims))
    return Expanded(file, [one_subject.spec for one_subject in loaded], checks, claims)


def _checks_of(loaded: LoadedSpec) -> Iterator[Check]:
    """Yield the checks of one subject, whose label, if it has one, stands before their ids."""
    spec, document, label = loaded.spec, loaded.document, loaded.label
    stated = [*axiom_checks(spec, document), *_comparisons(spec, document)]
    tolerance = spec.tolerance
    if label is not None:  # what stands before a pattern's slash is about the id without the label
        tolerance = {
            f"{label}-{pattern}" if "/" in pattern else pattern: amount for pattern, amount in tolerance.items()
        }
    for check in with_equivalence(spec, document, stated):
        name = check.id if label is None else f"{label}-{check.id}"
        yield check.but(id=name, label=label, tolerance=tolerance)


def _comparisons(spec: Spec, document: Document) -> Iterator[Check]:
    """Yield a check for each entry of `compare` and each of its removals."""
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
        plain = plain_check(spec, document, path, f"{compare.better}-over-{compare.than}")
        bounds = tuple(PlacedBound(f"{name.removesuffix('.mean')}.mean", compare.by, place) for name in names)
        check = plain.but(method=comparison.better, comparison=comparison, expect=bounds)
        yield from with_removals(check, compare.remove)


def _numbered(checks: Iterable[Check]) -> list[Check]:
    """Give each check its position, and repeated ids a number: pytest needs each to be its own."""
    used: set[tuple[str, str]] = set()
    numbered = []
    for order, check in enumerate(checks):
        name, number = check.id, 1
        while (check.function, name) in used:
            number += 1
            name = f"{check.id}-{number}"
        used.add((check.function, name))
        numbered.append(check.but(id=name, order=order))
    return numbered


def _with_families(checks: list[Check]) -> list[Check]:
    """Tell each comparison of all comparisons on its subject."""
    families: dict[str | None, list[Check]] = {}
    for check in checks:
        if check.comparison is not None:
            families.setdefault(check.label, []).append(check)
    return [check.but(family=tuple(families[check.label])) if check.comparison else check for check in checks]
