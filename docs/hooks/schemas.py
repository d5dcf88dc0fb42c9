"""Pages of the spec language, of the record, and of the Python names, from their schemas."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from itertools import pairwise
from typing import Any

from prose import cell, escape, table
from pydantic import BaseModel

import axioms
from axioms import record
from axioms.spec.json_schema import json_schema

Schema = dict[str, Any]
LONG = 8
"""An enumeration that is longer is described, not listed: its names have pages of their own."""


def spec_schema() -> str:
    """Return the JSON Schema of a spec, as a file of the site."""
    return json.dumps(json_schema(), indent=1)


def record_schema() -> str:
    """Return the JSON Schema of results.json, as a file of the site."""
    return json.dumps(record.RunRecord.model_json_schema(), indent=1)


def type_of(schema: Schema) -> str:
    """Return what a value may be, as Markdown."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return (
            f"[{name}](#{name.lower()})"
            if "$defs" in schema["$ref"] and "properties" not in schema["$ref"]
            else f"as `{name}` above"
        )
    if "enum" in schema:
        values = schema["enum"]
        return (
            ", ".join(f"`{value}`" for value in values)
            if len(values) <= LONG
            else str(schema.get("description", "a registered name"))
        )
    if "const" in schema:
        return f"`{schema['const']}`"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            if str(schema.get("description", "")).startswith(("a ", "an ", "the inputs")):
                return f"{schema['description']}: its name, or `{{name: {{option: value}}}}`"
            parts = dict.fromkeys(type_of(part) for part in schema[key] if part.get("type") != "null")
            return " or ".join(parts)
    match schema.get("type"):
        case "array":
            return f"a list of: {type_of(schema['items'])}" if "items" in schema else "a list"
        case "object":
            values = schema.get("additionalProperties")
            return f"a mapping to: {type_of(values)}" if isinstance(values, dict) else "a mapping"
        case str() as name:
            return {
                "string": "text",
                "integer": "a whole number",
                "number": "a number",
                "boolean": "true or false",
            }.get(name, name)
    return "anything"


def keys_table(schema: Schema, about: dict[str, str] | None = None) -> str:
    """Return the keys of an object with what they may be, their defaults and their meaning."""
    rows = []
    for name, part in schema.get("properties", {}).items():
        default = part.get("default")
        shown = "" if default in (None, [], {}, "") else f"`{json.dumps(default)}`"
        meaning = (about or {}).get(name) or part.get("description", "")
        rows.append([f"`{name}`", type_of(part), shown, cell(meaning)])
    return table(["key", "value", "default", "meaning"], rows)


def spec_page() -> str:
    """Return the spec language, key by key."""
    schema = json_schema()
    parts = [
        "# The spec language, key by key\n",
        "*Generated from `axioms/spec/schema.json` when this site was built.* ",
    ]
    parts += [
        "Editors read [the JSON Schema](spec.schema.json) itself: put "
        "`# yaml-language-server: $schema=` and its address on a spec's first line. "
    ]
    parts += [
        "What the keys mean together is in [What a spec says](spec_guide.md).\n",
        "## A spec {#spec}\n",
        keys_table(schema),
    ]
    for name, part in schema["$defs"].items():
        parts += [f"## {name} {{#{name.lower()}}}\n", escape(part.get("description", "")) + "\n", keys_table(part)]
    return "\n".join(parts)


def attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return what stands below each field of a class, and of the classes that it is made of."""
    texts: dict[str, str] = {}
    for base in reversed([base for base in model.__mro__ if issubclass(base, BaseModel) and base is not BaseModel]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                texts[ast.unparse(field.target)] = str(below.value.value)
    return texts


def record_page() -> str:
    """Return every part of results.json with its fields."""
    schema = record.RunRecord.model_json_schema()
    parts = [
        "# The record: results.json\n",
        f"*Generated from `axioms/record` when this site was built; version {record.SCHEMA_VERSION}.*\n",
    ]
    parts += [
        escape(inspect.getdoc(record) or "") + "\n",
        "[The JSON Schema](record.schema.json) is a file; in Python it is typed objects:\n",
    ]
    parts += [
        "```python\nfrom pathlib import Path\n\nfrom axioms.record import read_record\n\n"
        'run = read_record(Path("reports/latest"))\n```\n'
    ]
    classes = {"RunRecord": schema, **schema["$defs"]}
    for name, part in classes.items():
        model = getattr(record, name, None)
        about = attribute_docstrings(model) if isinstance(model, type) and issubclass(model, BaseModel) else {}
        if "properties" in part:
            parts += [
                f"## {name} {{#{name.lower()}}}\n",
                escape(part.get("description", "")) + "\n",
                keys_table(part, about),
            ]
        else:
            parts += [f"## {name} {{#{name.lower()}}}\n", type_of(part) + "\n"]
    return "\n".join(parts)


def python_page() -> str:
    """Return the public names; mkdocstrings fills in their signatures and docstrings."""
    parts = ["# Python\n", "The public names are those of `axioms` itself. Nothing else is promised to stay.\n"]
    for name in axioms.__all__:
        target = getattr(axioms, name)
        parts += [
            f"::: {target.__module__}.{target.__qualname__}\n"
            "    options: {show_root_heading: true, heading_level: 2, show_source: false}\n"
        ]
    return "\n".join(parts)
