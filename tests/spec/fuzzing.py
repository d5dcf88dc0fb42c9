"""Specs drawn at random: made from the JSON schema itself, or shipped ones with something wrong in them.

Names come from the schema's enumerations and options from the schemas of the registries' entries, so that much of what
is drawn is valid and gets far; the rest is nearly so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, SUBJECTS

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "axioms" / "spec" / "schema.json").read_text(encoding="utf-8"))
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
SHIPPED = [yaml.load(file.read_bytes(), LOADER) for file in sorted((ROOT / "specs").glob("*.yaml"))]
TINY: tuple[dict[str, Any], ...] = (
    {"model": {"linear": {"weight": [[3, -1], [1, 2]]}}, "data": {"points": [[2, 5], [1, 1]]}},
    {"model": {"expression": {"inputs": ["a", "b"], "value": "a * b + relu(a)"}}, "data": {"points": [[2, 3]]}},
    {"pair": {"left": "product-left", "right": "product-right"}, "data": {"points": [[2, 3, 4]]}},
    {"model": {"tiny": {"architecture": "bert"}}, "data": {"random-tokens": {"n": 2, "length": 5}}},
    {"model": {"tiny": {"architecture": "llama"}}, "data": {"random-tokens": {"n": 2, "length": 5}}},
    {"pair": {"model": {"tiny": {"architecture": "gpt2"}}}, "data": {"random-tokens": {"n": 1, "length": 4}}},
    {"model": {"linear": {"weight": [[3, -1]]}}, "data": {"points": [[2, 5, 7]]}},
    {"model": {"tiny": {"architecture": "bert"}}, "data": {"points": [[2, 3]]}},
)
"""Subjects that take no time, two of them with data that does not fit the model."""
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


@cache
def documents() -> st.SearchStrategy[Any]:
    """Documents that the schema allows: always with what no spec can be without, and any of its other properties."""
    return _of({**SCHEMA, "required": ("claim", "subject", "methods", "checks")})


@cache
def runnable() -> st.SearchStrategy[Any]:
    """Documents about a tiny subject: methods, axioms and metrics by their names, everything else by the schema."""
    parts = SCHEMA["properties"]
    subject = SCHEMA["$defs"]["Subject"]["properties"]
    rest = st.fixed_dictionaries({}, optional={name: _of(subject[name]) for name in ("target", "remove")})
    rewrites = _of(SCHEMA["$defs"]["Pair"]["properties"]["rewrite"])
    return st.fixed_dictionaries(
        {
            "claim": st.just("Drawn."),
            "subject": st.tuples(st.sampled_from(TINY), rest, rewrites).map(lambda drawn: _subject(*drawn)),
            "methods": st.lists(_of(parts["methods"]["items"]), min_size=1, max_size=2),
            "checks": st.lists(st.sampled_from(list(AXIOMS)).flatmap(_check), min_size=1, max_size=2),
        },
        optional={"run": _of(parts["run"]), "sweep": _of(parts["sweep"])},
    )


def _subject(tiny: dict[str, Any], rest: dict[str, Any], rewrite: Any) -> dict[str, Any]:
    """Return a subject; a pair that has one model gets the rewrite that makes the other."""
    subject = copy.deepcopy(tiny) | rest
    if "model" in subject.get("pair", {}):
        subject["pair"]["rewrite"] = rewrite
    return subject


@cache
def _check(axiom: str) -> st.SearchStrategy[dict[str, Any]]:
    metrics = st.sampled_from([f"{name}{end}" for name in AXIOMS.get(axiom).metrics for end in ("", ".mean", ".max")])
    bounds = st.dictionaries(metrics, _of(SCHEMA["$defs"]["Bound"]), max_size=1)
    optional = {"expect": bounds, "record": st.lists(metrics, max_size=2)}
    return st.fixed_dictionaries({"axiom": st.one_of(st.just(axiom), _with_options(axiom))}, optional=optional)


@cache
def near_misses() -> st.SearchStrategy[Any]:
    """Documents of the schema or of the shipped specs, each with a part exchanged, taken out, renamed or repeated."""
    plain = st.one_of(st.sampled_from(SHIPPED), runnable())
    return st.tuples(plain, st.data()).map(lambda drawn: _changed(*drawn))


def texts() -> st.SearchStrategy[str]:
    """YAML: of a document, or with characters put in, taken out or repeated, as an editor leaves it half-way."""
    plain = st.one_of(documents(), runnable(), near_misses()).map(dump)
    return st.one_of(plain, plain, plain, st.tuples(plain, st.data()).map(lambda drawn: _damaged(*drawn)))


def settled(examples: int, *, is_fixed: bool) -> settings:
    """Return hypothesis' settings: fixed draws in the default run, others in each long one."""
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=is_fixed,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


def dump(document: Any) -> str:
    return yaml.dump(document, Dumper=DUMPER, allow_unicode=True, sort_keys=False)


def _of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return what a part of the schema allows."""
    if "$ref" in schema:
        return st.deferred(lambda: _of(_resolve(schema["$ref"])))
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
    branches = [_of(choice) for choice in others]
    if named and names:
        branches += [st.sampled_from(names).flatmap(_with_options)] * 2
    return st.one_of(branches)


@cache
def _with_options(name: str) -> st.SearchStrategy[dict[str, Any]]:
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
        _of(schema.get("items", {}))
        if "prefixItems" not in schema
        else st.one_of([_of(part) for part in schema["prefixItems"]])
    )
    least = schema.get("minItems", 0)
    return st.lists(items, min_size=least, max_size=schema.get("maxItems", least + 2))


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = {name: _of(part) for name, part in schema.get("properties", {}).items()}
    required = {name: properties.pop(name) for name in schema.get("required", ()) if name in properties}
    if properties or required:
        rare = {name: value for name, value in properties.items() if name not in ("extends", "add", "subjects")}
        return st.fixed_dictionaries(required, optional=rare)
    rest = schema.get("additionalProperties", True)
    values = _of(rest) if isinstance(rest, dict) else JUNK
    return st.dictionaries(STRINGS, values, min_size=schema.get("minProperties", 0), max_size=2)


def _changed(document: Any, data: st.DataObject) -> Any:
    """Return the document with at most two of its parts changed."""
    changed = copy.deepcopy(document)
    for _ in range(data.draw(st.sampled_from([0, 1, 1, 1, 2]))):
        holder, key = data.draw(st.sampled_from(_places(changed) or [(None, None)]))
        if holder is None:
            return data.draw(JUNK)
        change = data.draw(st.sampled_from(["exchange", "exchange", "take out", "rename", "repeat"]))
        if change == "exchange" or (change in ("rename", "repeat") and isinstance(holder, list)):
            alike = next((values for kind, values in ALIKE.items() if type(holder[key]) is kind), JUNK)
            holder[key] = data.draw(st.one_of(alike, JUNK))
        elif change == "take out":
            del holder[key]
        elif change == "rename":
            holder[data.draw(STRINGS)] = holder.pop(key)
        else:
            holder[data.draw(st.sampled_from([*SCHEMA["properties"]]))] = holder[key]
    return changed


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every part of a document as the list or mapping that holds it, and its place there."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, part in parts for place in ((value, key), *_places(part))]


def _damaged(text: str, data: st.DataObject) -> str:
    start = data.draw(st.integers(0, len(text)))
    stop = min(len(text), start + data.draw(st.integers(0, 40)))
    piece = data.draw(
        st.one_of(st.text(max_size=4), st.sampled_from(["\t", "&a ", "*a", "- ", "{", "]", "!!python/x "]))
    )
    return text[:start] + data.draw(st.sampled_from([piece, piece + text[start:stop] * 2])) + text[stop:]
