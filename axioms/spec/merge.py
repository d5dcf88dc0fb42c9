"""One document on top of another: what `extends` and each entry of `subjects` do.

Sections of the upper document replace those below, `run` and `subject` are merged key by key, and what stands under
`add` is added: checks by their axiom, methods by their label, everything else at the end.
"""

from __future__ import annotations

from typing import Any

from axioms.core.errors import Problem, SpecError, did_you_mean
from axioms.core.source import Document, Path_
from axioms.spec.nodes import Combine, Node, append, by_key, upper_first

ADD = "add"
OF_THE_CLAIM = ("paper", "status", "decided_by", "claims")
"""Sections that belong to a spec's claim: a spec that extends another and has its own claim does not take them over."""
SECTIONS = by_key({"run": by_key(), "subject": by_key()})
"""How the sections of two documents are merged: these two key by key, every other one replaces what is below it."""


def merge(base: Document, upper: Document) -> Document:
    """Return the upper document on top of its base."""
    merged = Document(upper.file, {})
    below, above = Node(base, (), _without_claims(base.value, upper.value)), Node(upper, (), upper.value)
    merged.value = SECTIONS(below, above, merged, ())
    merged.value.pop("extends", None)
    return _add(merged, above[ADD]) if merged.value.pop(ADD, None) is not None else merged


def _without_claims(base: Any, upper: Any) -> Any:
    """Return the base without what it says of its claim, where the upper document has a claim of its own."""
    if not (isinstance(base, dict) and isinstance(upper, dict) and "claim" in upper):
        return base
    return {key: value for key, value in base.items() if key not in OF_THE_CLAIM}


def _add(base: Document, addition: Node) -> Document:
    """Return the document with what an `add` section adds to its sections."""
    problems = _add_problems(addition)
    if problems:
        raise SpecError(problems)
    merged = Document(base.file, {})
    below = Node(base, (), base.value)
    merged.value = by_key(ADDED)(below, addition, merged, ())
    below.name(merged, ())
    return merged


def _add_problems(addition: Node) -> list[Problem]:
    """Return what is wrong with an `add` section as such; what it adds is validated where it was added."""
    if not isinstance(addition.value, dict):
        return addition.error(f"must be a mapping with {', '.join(ADDED)}; found {addition.value!r}.").problems
    problems = []
    for key in addition.value:
        if key not in ADDED:
            what = f"nothing can be added to {key!r}; write it beside `add`.{did_you_mean(key, ADDED)}"
            problems += addition[key].error(what).problems
    return problems


def _add_checks(base: Node, upper: Node, into: Document, to: Path_) -> Any:
    """Merge each new check over the base's of the same axiom, options and methods; append it where there is none."""
    if not (isinstance(base.value, list) and isinstance(upper.value, list)):
        return upper.copy(into, to)
    changes: dict[int, Node] = {}
    new: list[Node] = []
    for check in upper.items:
        same = [index for index, known in enumerate(base.value) if _is_same_check(known, check.value)]
        if len(same) > 1:
            choices = " or ".join(str(base.value[index].get("methods", "all")) for index in same)
            what = f"{len(same)} checks have this axiom with these options; say by `methods` which is meant: {choices}."
            raise check.error(what)
        if same and same[0] in changes:
            raise check.error("an entry above changes the same check; write both as one.")
        if same:
            changes[same[0]] = check
        else:
            new.append(check)
    upper.name(into, to)
    merged = []
    for index, check in enumerate([*base.items, *new]):
        at = (*to, index)
        merged.append(CHECK(check, changes[index], into, at) if index in changes else check.copy(into, at))
    return merged


def _is_same_check(base: Any, upper: Any) -> bool:
    if not (isinstance(base, dict) and isinstance(upper, dict)) or _axiom_of(base) != _axiom_of(upper):
        return False
    return "methods" not in upper or base.get("methods") == upper["methods"]


def _axiom_of(check: dict[str, Any]) -> tuple[str, Any]:
    """Return name and options of a check's axiom."""
    raw = check.get("axiom")
    if isinstance(raw, dict) and len(raw) == 1:
        name, options = next(iter(raw.items()))
        return str(name), options or {}
    return str(raw), {}


def _add_methods(base: Node, upper: Node, into: Document, to: Path_) -> Any:
    """Put each new method in the place of the base's with its label; append it where there is none."""
    if not (isinstance(base.value, list) and isinstance(upper.value, list)):
        return upper.copy(into, to)
    upper.name(into, to)
    methods = {label_of(method.value) or index: method for index, method in enumerate(base.items)}
    for index, method in enumerate(upper.items, start=len(methods)):
        methods[label_of(method.value) or index] = method
    return [method.copy(into, (*to, index)) for index, method in enumerate(methods.values())]


def label_of(method: Any) -> str | None:
    """Return the label of a method as a spec writes it, `name` or `{name: {as: label}}`; None where it is neither."""
    if isinstance(method, dict) and len(method) == 1:
        name, options = next(iter(method.items()))
        method = options.get("as", name) if isinstance(options, dict) else name
    return method if isinstance(method, str) else None


CLAIMS: dict[str, Combine] = {"expect": by_key(), "violated_by": by_key()}
CLAIMS |= dict.fromkeys(("record", "refused_by", "rewrites", "remove"), append)
CHECK = by_key({**CLAIMS, "on": by_key(others=by_key(CLAIMS))})
"""How a check is merged over another: bounds by metric, claims by method and rewrite, lists by appending."""
ADDED: dict[str, Combine] = {
    "checks": _add_checks,
    "methods": _add_methods,
    "not_defined": append,
    "compare": append,
    "claims": append,
    "reported": by_key(others=by_key()),
    "tolerance": upper_first,
}
"""How each section takes what is added to it."""
