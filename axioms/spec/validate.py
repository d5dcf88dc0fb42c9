"""A loaded document to a `Spec`, or all of its problems at once, each with its file and line."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from axioms.core.errors import Problem, SpecError, did_you_mean
from axioms.core.registry import AXIOMS, METHODS
from axioms.core.source import Document, Path_
from axioms.properties.sweeps import KINDS, kind_of
from axioms.spec.load import load
from axioms.spec.metrics import split_metric
from axioms.spec.schema import Spec, options_in_checks


def load_spec(file: Path) -> tuple[Spec, Document]:
    """Read, extend and validate one spec file."""
    document = load(file)
    problems: list[Problem] = []
    spec: Spec | None = None
    try:
        spec = Spec.model_validate(document.value, context={"file": file})
    except ValidationError as error:
        problems += _schema_problems(document, error)
    else:
        problems += [*_side_problems(spec, document), *_sweep_problems(spec, document)]
        problems += [*_option_problems(spec, document), *_rewrite_problems(spec, document)]
        problems += _absence_problems(spec, document)
    problems += _reference_problems(document)
    if problems or spec is None:
        raise SpecError(sorted(problems, key=lambda each: (str(each.file), each.line)))
    return spec, document


def _schema_problems(document: Document, error: ValidationError) -> list[Problem]:
    said: dict[Path_, list[str]] = {}
    for each in error.errors():
        path, missing = _path(document.value, each["loc"])
        if each["type"] == "extra_forbidden":
            what = f"unknown key.{did_you_mean(str(path[-1]), _fields_at(path[:-1]))}"
        elif each["type"] == "missing":
            what = f"{missing!r} is missing"
        elif each["type"] in ("spec", "bound"):
            what = each["msg"]
        else:
            what = f"{_lower_first(each['msg'])}; found {_short(each['input'])}"
        said.setdefault(path, []).append(what)
    return [document.problem(path, " or ".join(dict.fromkeys(whats)).rstrip(".") + ".") for path, whats in said.items()]


def _path(value: Any, loc: tuple[int | str, ...]) -> tuple[Path_, str | None]:
    """Pydantic's location without the names of union branches; and the key that is missing, if one is."""
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
    """The keys that are allowed in the section at `path`."""
    model: type[BaseModel] = Spec
    for part in path:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is not None:
            model = next(_models_in(field.annotation), model)
    return list(model.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def _side_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Checks that speak of two sides where the subject has one."""
    if spec.subject.pair is not None:
        return
    for index, check in enumerate(spec.checks):
        axiom = AXIOMS.get(check.axiom.name)
        if axiom.scope == "pair":
            yield document.problem(("checks", index, "axiom"), f"{axiom.name!r} needs a subject with a `pair`.")
        for metric in (*check.expect, *check.record):
            if split_metric(axiom, metric)[0] is not None:
                yield document.problem(("checks", index), f"{metric!r} names a side, and the subject has no `pair`.")


def _sweep_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """A sweep that nothing looks at, methods that cannot be swept, and metrics of settings that are not."""
    looking = [index for index, check in enumerate(spec.checks) if AXIOMS.get(check.axiom.name).takes("sweep")]
    if spec.sweep is not None and not looking:
        yield document.problem(("sweep",), "no check looks at it; add one with the axiom 'bypass_gain'.")
    for index in looking:
        check = spec.checks[index]
        for method in spec.methods:
            if check.methods is not None and method.label not in check.methods:
                continue
            if not METHODS.get(method.name).takes("bypass"):
                what = f"{method.label!r} has no softmax to bypass; name the methods that do: `methods: [attnlrp]`."
                yield document.problem(("checks", index), what)
            elif {"bypass", "engine"} & set(method.options):
                what = f"a sweep sets `bypass` itself, in the fast engine; take both out of {method.label!r}."
                yield document.problem(("checks", index), what)
        kinds = check.axiom.options.get("sweep") or (spec.sweep.layers if spec.sweep is not None else KINDS)
        for metric in (*check.expect, *check.record):
            needed = kind_of(split_metric(AXIOMS.get(check.axiom.name), metric)[1])
            if needed is not None and needed not in kinds:
                yield document.problem(("checks", index), f"{metric!r} needs {needed!r} among the sweep's `layers`.")


def _absence_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Combinations that are said not to exist and that no check would try."""
    tried = [
        (check.axiom, method.label)
        for check in spec.checks
        for method in spec.methods
        if check.methods is None or method.label in check.methods
    ]
    for index, absent in enumerate(spec.not_defined):
        if not any(absent.matches(*each) for each in tried):
            yield document.problem(("not_defined", index), "no check of this spec is meant; each must be tried.")


def _option_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Comparisons that could be meant under different options of their axiom."""
    for index, compare in enumerate(spec.compare):
        axiom = compare.metric.partition(".")[0]
        found = options_in_checks(spec, axiom)
        if compare.options is None and len(found) > 1:
            choices = " or ".join(map(str, found))
            what = f"the checks have {axiom!r} with different options; say which are meant: `options: {choices}`."
            yield document.problem(("compare", index), what)


def _rewrite_problems(spec: Spec, document: Document) -> Iterator[Problem]:
    """Checks that name rewrites which the pair does not have, or that look at one side of a rewritten pair."""
    pair = spec.subject.pair
    known = [] if pair is None else [each.name for each in pair.rewritten]
    for index, check in enumerate(spec.checks):
        named: list[tuple[Path_, str]] = [(("checks", index, "on", name), name) for name in check.on]
        named += [(("checks", index, "rewrites", place), name) for place, name in enumerate(check.rewrites or ())]
        for path, name in named:
            if name not in known:
                yield document.problem(path, f"{name!r} is not among the pair's rewrites.{did_you_mean(name, known)}")
        axiom = AXIOMS.get(check.axiom.name)
        if known and (axiom.scope != "pair" or axiom.methodless):
            what = f"{axiom.name!r} is not about two models; with rewrites, use one that is: implementation_invariance."
            yield document.problem(("checks", index, "axiom"), what)
    if known and spec.compare:
        yield document.problem(("compare",), "a pair that is made by rewrites has nothing to compare.")


def _reference_problems(document: Document) -> Iterator[Problem]:
    """Labels that name no method of this spec. Works on raw values, so that other errors do not hide these."""
    labels = _labels(document.value.get("methods"))
    if labels is None:
        return
    for path, label in _mentions(document.value):
        if label not in labels:
            yield document.problem(path, f"{label!r} is not among this spec's methods.{did_you_mean(label, labels)}")
    for index, label in enumerate(labels):
        if label in labels[:index]:
            what = f"{label!r} is listed twice; give one of them another label: {{{label}: {{as: other_name}}}}."
            yield document.problem(("methods", index), what)


def _labels(methods: Any) -> list[str] | None:
    if not isinstance(methods, list):
        return None
    labels = []
    for raw in methods:
        if isinstance(raw, dict) and len(raw) == 1:
            name, options = next(iter(raw.items()))
            labels.append(options.get("as", name) if isinstance(options, dict) else name)
        else:
            labels.append(raw)
    return [label for label in labels if isinstance(label, str)]


def _mentions(value: dict[str, Any]) -> Iterator[tuple[Path_, str]]:
    checks = value.get("checks")
    for index, check in enumerate(checks if isinstance(checks, list) else []):
        if not isinstance(check, dict):
            continue
        on = check.get("on")
        claims: list[tuple[Path_, Any]] = [(("checks", index), check)]
        claims += [(("checks", index, "on", name), each) for name, each in on.items()] if isinstance(on, dict) else []
        for where, each in claims:
            for key in ("methods", "violated_by", "refused_by"):
                for place, label in enumerate((each.get(key) if isinstance(each, dict) else None) or ()):
                    path: Path_ = (*where, key, label if key == "violated_by" else place)
                    if isinstance(label, str):
                        yield path, label
    absent = value.get("not_defined")
    for index, each in enumerate(absent if isinstance(absent, list) else []):
        for place, label in enumerate((each.get("methods") if isinstance(each, dict) else None) or ()):
            if isinstance(label, str):
                yield ("not_defined", index, "methods", place), label
    compare = value.get("compare")
    for index, each in enumerate(compare if isinstance(compare, list) else []):
        for key in ("better", "than"):
            if isinstance(each, dict) and isinstance(each.get(key), str):
                yield ("compare", index, key), each[key]
    reported = value.get("reported")
    for label in reported if isinstance(reported, dict) else ():
        if label != "model":  # what the paper says of the model itself
            yield ("reported", label), label


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
