"""Strategies of values: what a part of the spec language's JSON schema allows, and junk.

Names come from the schema's enumerations and options from the schemas of the registries' entries, so that much of what
is drawn is valid and gets far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, SUBJECTS

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "axioms" / "spec" / "schema.json").read_text(encoding="utf-8"))
REGISTRIES: tuple[Any, ...] = (METHODS, AXIOMS, REWRITES, SUBJECTS, DATA)
WORDS = """loo attnlrp cp_lrp gradient_x_input all left right predicted relative_gap.max relative_gap pearson.mean
    relative_error.max loo_correlation.pearson loo-over-attnlrp cpu cuda cuda:7 table-1 a/b * python: ../x /etc/passwd
    specs/axioms.yaml suite:axioms.yaml _base.yaml""".split()
STRINGS = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=12), st.sampled_from(["", " ", "\x00", "\x1b[31m", "<b>", "#", ":", "no"])
)
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1e-9, 0.5, 1.0, -1.0, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), 5e-324]),
    st.floats(-10, 10),
)
INTEGERS = st.one_of(st.integers(-2, 5), st.sampled_from([2**31, 2**63, 2**70, -(2**63) - 1, 10**30]))
JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, NUMBERS, STRINGS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=4,
)

ALIKE = {int: INTEGERS, float: NUMBERS, str: STRINGS}


def of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return what a part of the schema allows."""
    if "$ref" in schema:
        return st.deferred(lambda: of(_resolve(schema["$ref"])))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    if "anyOf" in schema:
        return _any_of(schema["anyOf"])
    kinds = {
        "string": lambda: STRINGS.filter(lambda text: len(text) >= schema.get("minLength", 0)),
        "number": lambda: NUMBERS,
        "integer": lambda: INTEGERS,
        "boolean": st.booleans,
        "null": st.none,
        "array": lambda: _array(schema),
        "object": lambda: _object(schema),
    }
    return kinds[schema["type"]]() if "type" in schema else JUNK


def _resolve(reference: str) -> Any:
    part: Any = SCHEMA
    for name in reference.removeprefix("#/").split("/"):
        part = part[name]
    return part


def _any_of(choices: list[Mapping[str, Any]]) -> st.SearchStrategy[Any]:
    """Return one of the choices; a name with options gets those of what is registered under it."""
    names = [name for choice in choices for part in choice.get("anyOf", [choice]) for name in part.get("enum", ())]
    named = [choice for choice in choices if choice.get("maxProperties") == 1 and "additionalProperties" not in choice]
    others = [choice for choice in choices if choice not in named]
    branches = [of(choice) for choice in others]
    if named and names:
        branches += [st.sampled_from(names).flatmap(with_options)] * 2
    return st.one_of(branches)


@cache
def with_options(name: str) -> st.SearchStrategy[dict[str, Any]]:
    entry = next((registry.get(name) for registry in REGISTRIES if name in registry), None)
    if entry is None:
        return st.fixed_dictionaries({name: JUNK})
    schema = entry.options_model().model_json_schema()
    return _object(_inlined(schema, schema.get("$defs", {}))).map(lambda options: {name: options})


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with its own definitions in the place of references to them."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {key: _inlined(value, definitions) for key, value in schema.items()}
    return [_inlined(value, definitions) for value in schema] if isinstance(schema, list) else schema


def _array(schema: Mapping[str, Any]) -> st.SearchStrategy[list[Any]]:
    items = (
        of(schema.get("items", {}))
        if "prefixItems" not in schema
        else st.one_of([of(part) for part in schema["prefixItems"]])
    )
    least = schema.get("minItems", 0)
    return st.lists(items, min_size=least, max_size=schema.get("maxItems", least + 2))


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = {name: of(part) for name, part in schema.get("properties", {}).items()}
    required = {name: properties.pop(name) for name in schema.get("required", ()) if name in properties}
    if properties or required:
        rare = {name: value for name, value in properties.items() if name not in ("extends", "add", "subjects")}
        return st.fixed_dictionaries(required, optional=rare)
    rest = schema.get("additionalProperties", True)
    values = of(rest) if isinstance(rest, dict) else JUNK
    return st.dictionaries(STRINGS, values, min_size=schema.get("minProperties", 0), max_size=2)
