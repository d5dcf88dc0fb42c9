"""The JSON Schema for editors."""

from __future__ import annotations

import json
from pathlib import Path

from axioms.commands.schema import schema_text
from axioms.core.registry import METHODS


def test_the_committed_schema_is_fresh(root: Path) -> None:
    committed = (root / "axioms" / "spec" / "schema.json").read_text()
    assert committed == schema_text() + "\n", "run: axioms schema > axioms/spec/schema.json"


def test_the_schema_completes_method_names() -> None:
    schema = json.loads(schema_text())
    names = schema["properties"]["methods"]["items"]["anyOf"][0]["anyOf"][0]["enum"]
    assert set(names) <= set(METHODS)
    assert "attnlrp" in names
