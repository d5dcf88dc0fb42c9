"""Labels of methods in a spec: each mention must name one of its methods.

Works on raw values, so that other errors do not hide these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from axioms.core.errors import Problem, did_you_mean
from axioms.core.source import Document, Path_
from axioms.spec.merge import label_of

OF_THE_MODEL = "model"
"""Under `reported`: what the paper says of the model itself."""


def mention_problems(document: Document) -> Iterator[Problem]:
    """Yield labels that name no method of the spec, and methods that share one."""
    methods = document.value.get("methods")
    if not isinstance(methods, list):
        return
    labels = [label for method in methods if (label := label_of(method)) is not None]
    for path, label in _mentions(document.value):
        if label not in labels:
            yield document.problem(path, f"{label!r} is not among this spec's methods.{did_you_mean(label, labels)}")
    for index, label in enumerate(labels):
        if label in labels[:index]:
            what = f"{label!r} is listed twice; give one of them another label: {{{label}: {{as: other_name}}}}."
            yield document.problem(("methods", index), what)


def _mentions(value: dict[str, Any]) -> Iterator[tuple[Path_, str]]:
    for path, check in _mappings(value, "checks"):
        yield from _in_claims(path, check)
        rewrites = check.get("on")
        for name, claims in rewrites.items() if isinstance(rewrites, dict) else ():
            if isinstance(claims, dict):
                yield from _in_claims((*path, "on", name), claims)
    for path, absent in _mappings(value, "not_defined"):
        yield from _in_list((*path, "methods"), absent.get("methods"))
    for path, comparison in _mappings(value, "compare"):
        for key in ("better", "than"):
            if isinstance(comparison.get(key), str):
                yield (*path, key), comparison[key]
    reported = value.get("reported")
    for label in reported if isinstance(reported, dict) else ():
        if label != OF_THE_MODEL:
            yield ("reported", label), label


def _mappings(value: dict[str, Any], section: str) -> Iterator[tuple[Path_, dict[str, Any]]]:
    entries = value.get(section)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (section, index), entry


def _in_claims(path: Path_, claims: dict[str, Any]) -> Iterator[tuple[Path_, str]]:
    for key in ("methods", "refused_by"):
        yield from _in_list((*path, key), claims.get(key))
    violated = claims.get("violated_by")
    for label in violated if isinstance(violated, dict) else ():
        yield (*path, "violated_by", label), label


def _in_list(path: Path_, labels: Any) -> Iterator[tuple[Path_, str]]:
    for index, label in enumerate(labels if isinstance(labels, list) else ()):
        if isinstance(label, str):
            yield (*path, index), label
