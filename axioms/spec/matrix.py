"""The `subjects` of a spec: for each entry the spec with that entry's lines on top of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from axioms.core.errors import Problem, SpecError, did_you_mean
from axioms.core.source import Document
from axioms.spec.merge import ADD, merge
from axioms.spec.nodes import Node
from axioms.spec.schema import Spec
from axioms.spec.subject import Subject

SUBJECTS = "subjects"
LABEL = "as"
OF_SUBJECT = tuple(Subject.model_fields)
OF_SPEC = (*(key for key in Spec.model_fields if key not in ("claim", "subject")), ADD)
"""What an entry may say besides its label: other values of the subject's keys, and of the spec's sections."""


class Variant(NamedTuple):
    """A spec with one subject, and the label of that subject where there are several."""

    label: str | None
    document: Document


def variants(document: Document) -> list[Variant]:
    """Return the document for each entry of its `subjects`, or as it is where it has none."""
    if SUBJECTS not in document.value:
        return [Variant(None, document)]
    entries = Node(document, (SUBJECTS,), document.value[SUBJECTS])
    problems = list(_problems(entries))
    if problems:
        raise SpecError(problems)
    sections = {key: value for key, value in document.value.items() if key != SUBJECTS}
    shared = Document(document.file, sections, document.places, document.written)
    merged = [merge(shared, _as_document(entry)) for entry in entries.items]
    labels = [_label(entry, spec) for entry, spec in zip(entries.items, merged, strict=True)]
    for index, label in enumerate(labels):
        if label in labels[:index]:
            what = f"two subjects are called {label!r}; give one of them another name: `as: other_name`."
            problems.append(document.problem((SUBJECTS, index), what))
    if problems:
        raise SpecError(problems)
    return [Variant(label, spec) for label, spec in zip(labels, merged, strict=True)]


def _problems(entries: Node) -> Iterator[Problem]:
    """Yield what is wrong with the form of the list; what its entries say is validated with the spec."""
    if not isinstance(entries.value, list) or not entries.value:
        yield from entries.error(f"must be a list of subjects; found {entries.value!r}.").problems
        return
    for entry in entries.items:
        if not isinstance(entry.value, dict):
            what = f"a subject is a mapping such as {{as: small, model: NAME}}; found {entry.value!r}."
            yield from entry.error(what).problems
            continue
        for key in entry.value:
            if key not in (LABEL, *OF_SUBJECT, *OF_SPEC):
                hint = did_you_mean(key, (LABEL, *OF_SUBJECT, *OF_SPEC))
                yield from entry[key].error(f"unknown key.{hint}").problems
        label = entry.value.get(LABEL, "label")
        if not isinstance(label, str) or not re.fullmatch(r"[A-Za-z0-9_.-]+", label):
            what = f"a name of letters, digits, `_`, `.` and `-`, which goes into the ids of checks; found {label!r}."
            yield from entry[LABEL].error(what).problems


def _as_document(entry: Node) -> Document:
    """Return an entry as if it were a file that extends the spec."""
    document = Document(entry.document.file, {})
    subject: dict[str, Any] = {}
    for key in entry.value:
        if key in OF_SUBJECT:
            subject[key] = entry[key].copy(document, ("subject", key))
        elif key != LABEL:
            document.value[key] = entry[key].copy(document, (key,))
    if subject:
        document.value["subject"] = subject
        entry.name(document, ("subject",))
    return document


def _label(entry: Node, spec: Document) -> str:
    """Return what tells this subject from the others: its `as`, or the name of its model."""
    if LABEL in entry.value:
        return str(entry.value[LABEL])
    subject = spec.value.get("subject")
    pair = subject.get("pair") if isinstance(subject, dict) else None
    places: tuple[Any, ...] = (subject,) if not isinstance(pair, dict) else (pair,)
    names = [_name(place.get(key)) for place in places if isinstance(place, dict) for key in ("model", "left", "right")]
    written = "-".join(name for name in names if name)
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", written) or "subject"


def _name(model: Any) -> str:
    """Return the name of a model without its owner and its options."""
    if isinstance(model, dict) and len(model) == 1:
        model = next(iter(model))
    return model.rpartition("/")[2] if isinstance(model, str) else ""
