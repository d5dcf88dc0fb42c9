"""`axioms rules`: print which rule each method uses for which kind of operation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from axioms.commands.imports import add_import_option, import_modules
from axioms.core.registry import METHODS

if TYPE_CHECKING:
    from axioms.papers.grid import Grid


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser("rules", help="print which rule each method uses for which kind of operation")
    parser.add_argument("--format", choices=("md", "tex", "csv"), default="md", help="Markdown, LaTeX or CSV (md)")
    add_import_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    from axioms.report.render import RENDERERS

    import_modules(options.modules)
    print(RENDERERS[options.format](rules_table()), end="")
    return 0


def rules_table() -> Grid:
    """Return the table of all registered methods that are made of rules."""
    from axioms.papers.methods import method_table
    from axioms.run.records import method_records

    methods = {name: method for name, method in method_records(METHODS).items() if method.rules is not None}
    grid = method_table("methods", "Methods", "The rule that each method uses for each kind of operation.", methods)
    assert grid is not None, "some of our own methods are made of rules"
    return grid
