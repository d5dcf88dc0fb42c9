"""`axioms rules`: print which rule each method uses for which kind of operation."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the subcommand and its options."""
    parser = commands.add_parser("rules", help="print which rule each method uses for which kind of operation")
    parser.add_argument("--format", choices=("md", "tex", "csv"), default="md", help="Markdown, LaTeX or CSV (md)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    from axioms.report.method_table import every_method
    from axioms.report.render import RENDERERS

    print(RENDERERS[options.format](every_method()), end="")
    return 0
