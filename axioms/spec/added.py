"""Methods that the command line adds to every spec, and what is claimed of them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import ValidationError

from axioms.core.errors import InputError, SpecError, did_you_mean
from axioms.core.imports import import_modules
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.source import Loader, Place, read
from axioms.spec.check import Check
from axioms.spec.references import MethodRef

Claimed = Literal["holds", "violated", "refused", "inconclusive"]
OF_ONE_METHOD = ("relevance",)
"""Axioms whose bounds are numbers of the methods that a spec names."""


@dataclass(frozen=True)
class Claim:
    """What a file of claims says of an added method: a verdict for the checks that a pattern matches."""

    pattern: str
    verdict: Claimed
    place: Place


def read_method(text: str, folder: Path | None = None) -> MethodRef:
    """Return the method that `module:name`, `name`, or `name: {option: value}` means; its module is imported."""
    try:
        raw = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise InputError(f"{text!r} is no method: {getattr(error, 'problem', None) or error}.") from None
    name, options = next(iter(raw.items())) if isinstance(raw, dict) and len(raw) == 1 else (raw, {})
    if not isinstance(name, str):
        raise InputError(f"{text!r} is no method; write NAME, MODULE:NAME or 'NAME: {{option: value}}'.")
    try:
        return MethodRef.model_validate({registered_name(name, folder): options or {}})
    except ValidationError as error:
        raise InputError(f"{text!r}: {' '.join(detail['msg'] for detail in error.errors())}") from None


def registered_name(name: str, folder: Path | None = None) -> str:
    """Return the name in the registry that `module:name` means: what the module registers, or a function in it.

    The module is imported; a name that is none of `module:name` is returned as it is.
    """
    module, colon, member = name.partition(":")
    if not colon or module in METHODS.resolvers:
        return name
    import_modules([module], folder)
    return member if member in METHODS else f"python:{module}.{member}"


def read_claims(file: Path) -> dict[str, list[Claim]]:
    """Return what a file claims of added methods: `{method: {axiom, or pattern of ids: verdict}}`."""
    document = read(file)
    problems = []
    claims: dict[str, list[Claim]] = {}
    for label, verdicts in document.value.items():
        if not isinstance(verdicts, dict):
            problems.append(document.problem((label,), "must be a mapping of axioms to verdicts."))
            continue
        for pattern, verdict in verdicts.items():
            if verdict not in get_args(Claimed):
                what = f"{verdict!r} is no verdict.{did_you_mean(str(verdict), get_args(Claimed))}"
                problems.append(document.problem((label, pattern), what))
            if pattern.isidentifier() and pattern not in AXIOMS:
                problems.append(document.problem((label, pattern), f"no axiom.{did_you_mean(pattern, AXIOMS)}"))
            claims.setdefault(label, []).append(Claim(pattern, verdict, document.place((label, pattern))))
    if problems:
        raise SpecError(problems)
    return claims


def claim_of(check: Check, name: str, claims: Mapping[str, Sequence[Claim]]) -> Claim | None:
    """Return the first claim about an added check, by its axiom or by its id `spec::axiom[...]`; else None."""
    assert check.method is not None
    of_method = claims.get(check.method.label, ())
    for claim in of_method:
        if claim.pattern == check.function or fnmatchcase(name, claim.pattern):
            return claim
    return None


def added_checks(checks: Sequence[Check], methods: Iterable[MethodRef]) -> Iterator[Check]:
    """Yield a check of each added method for every axiom, subject, rewrite and removal that a spec looks at."""
    for method in methods:
        done = {about(check) for check in checks if check.method is not None and check.method.label == method.label}
        for check in checks:
            if _is_for(check, method) and about(check) not in done:
                done.add(about(check))
                yield _with_method(check, method)


def about(check: Check) -> tuple[Any, ...]:
    """Return what a check is about, whatever its method: axiom, subject, rewrite and removal."""
    axiom = None if check.axiom is None else (check.axiom.name, repr(check.axiom.options))
    return (axiom, check.label, check.rewrite, repr(check.subject.remove))


def _is_for(check: Check, method: MethodRef) -> bool:
    """Tell whether the axiom of a check says something about any method."""
    if check.axiom is None or check.method is None or check.axiom.name in OF_ONE_METHOD:
        return False
    return METHODS.get(method.name).takes("bypass") or not AXIOMS.get(check.axiom.name).takes("sweep")


def _with_method(check: Check, method: MethodRef) -> Check:
    """Return the check of another method, about which the spec claims nothing."""
    assert check.method is not None
    before = "" if check.label is None else f"{check.label}-"
    after = check.id.removeprefix(before).removeprefix(check.method.label)
    return check.but(
        id=f"{before}{method.label}{after}",
        method=method,
        added=True,
        violation=None,
        refusal=False,
        because=None,
        reported={},
        table=None,
        decides=(),
        is_open=False,
    )
