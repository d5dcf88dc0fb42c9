"""What a spec names: methods, axioms, models, data and rewrites, each with its options."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from axioms.core.entries import Registered
from axioms.core.errors import InputError, UnknownName, did_you_mean
from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, SUBJECTS, Registry
from axioms.subjects.fixtures import find_descriptor
from axioms.subjects.models.hub import named_directly

LEAST, MOST = -(2**63), 2**63 - 1
"""What fits into 64 bits: torch takes no other integers."""


class Strict(BaseModel):
    """No unknown keys, no silent conversions, no changes later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def fail(what: str) -> PydanticCustomError:
    """Return an error whose text is ours, word for word."""
    return PydanticCustomError("spec", "{what}", {"what": what})


def check_options(entry: Registered, options: dict[str, Any]) -> None:
    """Raise where options do not fit the signature of what they are for."""
    if not options and not entry.required:
        return  # nothing to check, and making the model takes time
    for name, value in options.items():
        for number in _numbers(value):
            if isinstance(number, int) and not LEAST <= number <= MOST:
                raise fail(f"option {name!r} has {number}, which does not fit into 64 bits.")
            if not math.isfinite(number):
                raise fail(f"option {name!r} has {number}; NaN or infinity is nothing to compute with.")
    model = entry.options_model()
    try:
        model.model_validate(options)
    except ValidationError as error:
        problems = []
        for detail in error.errors():
            name = str(detail["loc"][0]) if detail["loc"] else ""
            if detail["type"] == "extra_forbidden":
                problems.append(f"{entry.name!r} has no option {name!r}.{did_you_mean(name, model.model_fields)}")
            else:
                problems.append(f"option {name!r}: {detail['msg']}; found {detail['input']!r}.")
        raise fail(" ".join(problems)) from None


def _numbers(value: Any) -> Iterator[int | float]:
    """Yield the numbers in an option, wherever in it."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)


def named_schema(registry: Registry[Any], what: str) -> WithJsonSchema:
    """Return the JSON Schema of `name` or `{name: {options}}`, with the built-in names for completion."""
    name = {"anyOf": [{"enum": list(registry)}, {"type": "string"}]}
    mapping = {"type": "object", "minProperties": 1, "maxProperties": 1}
    return WithJsonSchema({"description": what, "anyOf": [name, mapping]})


def split_named(raw: Any, what: str) -> tuple[str, Any]:
    """Split `name` or `{name: options}` into (name, options)."""
    if isinstance(raw, str):
        return raw, {}
    if isinstance(raw, dict) and len(raw) == 1:
        name, options = next(iter(raw.items()))
        return name, {} if options is None else options
    raise fail(f"a {what} is a name or a mapping {{name: {{option: value}}}}; found {raw!r}")


class MethodRef(Strict):
    """A method with its options, under the label that the rest of the spec uses for it."""

    name: str
    label: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        name, options = split_named(raw, "method")
        if not isinstance(options, dict):
            raise fail(f"the options of {name!r} must be a mapping; found {options!r}")
        options = dict(options)
        label = options.pop("as", name)
        if not isinstance(label, str) or not label:
            raise fail(f"`as` must be a name; found {label!r}")
        known(METHODS, name)
        entry = METHODS.get(name)
        check_options(entry, options)
        if entry.validate is not None:
            try:
                entry.validate(**options)
            except InputError as error:
                raise fail(str(error)) from None
        return {"name": name, "label": label, "options": options}


class AxiomRef(Strict):
    """An axiom with its options."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        name, options = split_named(raw, "axiom")
        known(AXIOMS, name)
        if not isinstance(options, dict):
            raise fail(f"the options of {name!r} must be a mapping; found {options!r}")
        check_options(AXIOMS.get(name), options)
        return {"name": name, "options": options}


class SubjectRef(Strict):
    """A model by name: registered in Python, or described in a `fixtures/` folder beside the specs."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any, info: ValidationInfo) -> Any:
        return _subject_or_data(raw, info, SUBJECTS, "model")


class DataRef(Strict):
    """Data by name: registered in Python (`points: [[2, 3, 4]]`), or described in a `fixtures/` folder."""

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any, info: ValidationInfo) -> Any:
        return _subject_or_data(raw, info, DATA, "data")


def known(registry: Registry[Any], name: str) -> None:
    """Raise an error with a suggestion where the name is not registered."""
    try:
        registry.get(name)
    except (UnknownName, InputError) as error:  # a module that is named and cannot be imported is an InputError
        raise fail(str(error)) from None


def _subject_or_data(raw: Any, info: ValidationInfo, registry: Registry[Registered], kind: str) -> dict[str, Any]:
    name, options = split_named(raw, kind)
    if not isinstance(options, dict):
        options = {"values": options}  # `points: [[2, 3, 4]]` is short for `points: {values: [[2, 3, 4]]}`
    file = (info.context or {}).get("file")
    descriptor = find_descriptor(name, file) if file is not None else None
    if descriptor is not None:
        if descriptor.kind != kind:
            raise fail(f"{name!r} is a {descriptor.kind} fixture, and a {kind} fixture is wanted here")
        entry = registry.get(descriptor.build)
        check_options(entry, descriptor.build_options(options))
    elif name in registry:
        check_options(registry.get(name), options)
    elif kind == "model" and "/" in name:
        _check_hub_model(name, options)
    else:
        hint = did_you_mean(name, registry)
        raise fail(f"there is no {kind} {name!r}: not registered, and no fixtures/{name}.yaml beside the spec.{hint}")
    return {"name": name, "options": options}


def _check_hub_model(name: str, options: dict[str, Any]) -> None:
    """Raise where a model of the hub or in a folder is named wrongly; whether it exists is seen when a check runs."""
    try:
        named = named_directly(name, options)
    except InputError as error:
        raise fail(str(error)) from None
    assert named is not None
    check_options(SUBJECTS.get(named[0]), named[1])


class RewriteRef(Strict):
    """A rewrite with its options."""

    name: str
    options: dict[str, Any] = {}
    optional: bool = False
    """Asked for by `rewrites: all`: where its pattern does not occur, its checks are skipped with the reason."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if isinstance(raw, RewriteRef):
            return raw
        name, options = split_named(raw, "rewrite")
        known(REWRITES, name)
        if not isinstance(options, dict):
            raise fail(f"the options of {name!r} must be a mapping; found {options!r}")
        check_options(REWRITES.get(name), options)
        return {"name": name, "options": options}


ALL_OR_SOME = WithJsonSchema(
    {"anyOf": [{"const": "all"}, {"type": "array", "items": named_schema(REWRITES, "a rewrite").json_schema}]}
)
