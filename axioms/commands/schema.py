"""`axioms schema`: print the JSON Schema of a spec, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser("schema", help="print the JSON Schema of a spec, for editors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    print(schema_text())
    return 0


def schema_text() -> str:
    """Return the JSON Schema of a spec, as `axioms/spec/schema.json` holds it."""
    from axioms.spec.json_schema import json_schema

    return json.dumps(json_schema(), indent=1)
