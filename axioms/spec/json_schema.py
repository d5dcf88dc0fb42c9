"""The JSON Schema of a spec file, for editors."""

from __future__ import annotations

from typing import Any

from axioms.spec.matrix import LABEL, OF_SPEC, OF_SUBJECT, SUBJECTS
from axioms.spec.merge import ADD, ADDED
from axioms.spec.schema import Spec


def json_schema() -> dict[str, Any]:
    """Return the schema of `Spec` with the keys that are gone once a file is loaded: extends, add and subjects."""
    schema = Spec.model_json_schema()
    label = {"type": "string", "description": "Its name in the ids of checks; by default that of the model."}
    entry = {LABEL: label, **{key: {"$ref": f"#/$defs/Subject/properties/{key}"} for key in OF_SUBJECT}}
    entry |= {key: {"$ref": f"#/properties/{key}"} for key in OF_SPEC}
    schema["properties"] |= {
        SUBJECTS: {
            "type": "array",
            "minItems": 1,
            "description": "Several subjects; each entry changes `subject`, and other sections, for itself.",
            "items": {"type": "object", "properties": entry, "additionalProperties": False},
        },
        "extends": {"type": "string", "description": "A spec that this one builds on."},
        ADD: {
            "type": "object",
            "description": "What is added to the spec below: checks by axiom, methods by label, the rest at the end.",
            "properties": {key: {"$ref": f"#/properties/{key}"} for key in ADDED},
            "additionalProperties": False,
        },
    }
    # A spec that extends another may leave out what that one says.
    del schema["required"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
