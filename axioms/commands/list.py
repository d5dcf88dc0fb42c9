"""`axioms list`: print every name that a spec can use."""

from __future__ import annotations

import argparse
from typing import Any

from axioms.core.registry import AXIOMS, DATA, METHODS, REWRITES, SUBJECTS, Registry

REGISTRIES: tuple[Registry[Any], ...] = (METHODS, AXIOMS, SUBJECTS, DATA, REWRITES)


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "list", help="print the methods, axioms, subjects, data sources and rewrites that a spec can name"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print each registry's names with the first line of their docstrings."""
    for registry in REGISTRIES:
        print(f"{registry.what}s")
        for name in registry:
            print(f"  {name:<26} {registry.get(name).summary}")
    return 0
