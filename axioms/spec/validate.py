"""A spec file as one `Spec` for each subject, or all of its problems at once, each with its file and line."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from axioms.core.errors import Problem, SpecError, did_you_mean
from axioms.core.source import Document, Path_
from axioms.spec.consistency import consistency_problems
from axioms.spec.load import load
from axioms.spec.matrix import SUBJECTS, variants
from axioms.spec.mentions import mention_problems
from axioms.spec.schema import Spec


@dataclass(frozen=True)
class LoadedSpec:
    """A valid spec with one subject."""

    label: str | None
    """Which of the file's `subjects` it is about; None where the file has a single one."""
    spec: Spec
    document: Document


def load_specs(file: Path) -> list[LoadedSpec]:
    """Read, extend and validate a spec file; return a spec for each of its subjects."""
    loaded: list[LoadedSpec] = []
    problems: dict[Problem, list[str | None]] = {}
    by_subject = variants(load(file))
    for label, document in by_subject:
        spec, wrong = _validate(document, file)
        for problem in wrong:
            problems.setdefault(problem, []).append(label)
        if spec is not None:
            loaded.append(LoadedSpec(label, spec, document))
    if problems:
        named = [_with_subjects(problem, labels, len(by_subject)) for problem, labels in problems.items()]
        raise SpecError(sorted(named, key=lambda problem: (str(problem.file), problem.line)))
    return loaded


def _with_subjects(problem: Problem, labels: list[str | None], among: int) -> Problem:
    """Say for which subjects a line is wrong, if it is right for others and does not belong to one."""
    if len(set(labels)) == among or problem.where.startswith(SUBJECTS):
        return problem
    subjects = ", ".join(str(label) for label in dict.fromkeys(labels))
    return replace(problem, what=f"{problem.what} (of the subjects: {subjects})")


def _validate(document: Document, file: Path) -> tuple[Spec | None, list[Problem]]:
    problems: list[Problem] = []
    spec: Spec | None = None
    try:
        spec = Spec.model_validate(document.value, context={"file": file})
    except ValidationError as error:
        problems += _schema_problems(document, error)
    else:
        problems += consistency_problems(spec, document)
    return spec, [*problems, *mention_problems(document)]


def _schema_problems(document: Document, error: ValidationError) -> list[Problem]:
    said: dict[Path_, list[str]] = {}
    for detail in error.errors():
        path, missing = _path(document.value, detail["loc"])
        if detail["type"] == "extra_forbidden":
            what = f"unknown key.{did_you_mean(str(path[-1]), _fields_at(path[:-1]))}"
        elif detail["type"] == "missing":
            what = f"{missing!r} is missing"
        elif detail["type"] in ("spec", "bound"):
            what = detail["msg"]
        else:
            what = f"{_lower_first(detail['msg'])}; found {_short(detail['input'])}"
        said.setdefault(path, []).append(what)
    return [document.problem(path, " or ".join(dict.fromkeys(whats)).rstrip(".") + ".") for path, whats in said.items()]


def _path(value: Any, loc: tuple[int | str, ...]) -> tuple[Path_, str | None]:
    """Return pydantic's location without the names of union branches; and the key that is missing, if one is."""
    path: list[str | int] = []
    missing: str | None = None
    for part in loc:
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]  # type: ignore[index]
            path.append(part)
        else:
            missing = str(part)
    return tuple(path), missing


def _fields_at(path: Path_) -> list[str]:
    """Return the keys that are allowed in the section at `path`."""
    model: type[BaseModel] = Spec
    for part in path:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is not None:
            model = next(_models_in(field.annotation), model)
    return [*model.model_fields, *(("extends", SUBJECTS, "add") if model is Spec else ())]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
